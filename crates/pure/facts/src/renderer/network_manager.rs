//! `NetworkManager`'s profiles, and what it says it manages.

use crosstie_model::{
    facts::{
        net::Manager,
        persistence::{Format, InterfaceProfile, PersistentNetworkConfig, ProfileMatch},
    },
    managed::ASIDE_SUFFIX,
};

use super::{
    Claim, RendererFiles,
    profiles::{PLACES, each, is_made, sections},
};
use crate::{
    RawCapture,
    collect::{
        CollectRule, FileFilter,
        filter::{self, Kept},
        is_number, is_uuid,
        rules::{filtered, rule},
        split_ending,
    },
};

#[rustfmt::skip] // one rule a line reads as the table it is
pub(super) const RULES: &[CollectRule] = &[
    rule("{etc,run,usr/lib}/NetworkManager/system-connections/*", FileFilter::Private(keyfile)),
    filtered("etc/NetworkManager/conf.d/90-crosstie.conf", filter::nothing),
    filtered("run/NetworkManager/devices/*", device),
];
pub(super) const PROFILES: &str = "/etc/NetworkManager/system-connections/*";

const CONNECTIONS: &str = "NetworkManager/system-connections";

pub(super) struct NetworkManager;

impl RendererFiles for NetworkManager {
    fn packages(&self) -> &'static [&'static str] {
        &["network-manager"]
    }

    fn folders(&self) -> &'static [&'static str] {
        &[CONNECTIONS]
    }

    fn endings(&self) -> &'static [&'static str] {
        &["nmconnection"]
    }

    /// `90-NM-6ba7b810-9dad-11d1-80b4-00c04fd430c8.yaml`, `Wired connection 1.nmconnection`.
    fn is_given(&self, name: &str) -> bool {
        let (stem, _) = split_ending(name);
        let connection = stem.strip_prefix("Wired connection ");
        stem.strip_prefix("90-NM-").is_some_and(is_uuid) || connection.is_some_and(is_number)
    }

    fn path_part(&self) -> &'static str {
        "/NetworkManager"
    }

    fn is_private(&self) -> bool {
        true
    }

    fn read(&self, raw: &RawCapture, found: &mut PersistentNetworkConfig) {
        let wanted =
            |name: &str| !is_made(&Manager::NetworkManager, name) && !name.ends_with(ASIDE_SUFFIX);
        for place in PLACES {
            let folder = format!("{place}/{CONNECTIONS}");
            found.profiles.extend(each(raw, &folder, wanted, parse));
        }
    }

    fn read_made(&self, raw: &RawCapture) -> Vec<InterfaceProfile> {
        let wanted = |name: &str| is_made(&Manager::NetworkManager, name);
        each(raw, &format!("run/{CONNECTIONS}"), wanted, parse)
    }

    fn claim<'a>(&self, raw: &'a RawCapture) -> Option<Claim<'a>> {
        const DEVICES: &str = "run/NetworkManager/devices";
        raw.exists(DEVICES).then(|| -> Claim<'a> {
            Box::new(|_, index| {
                let device = raw.text(&format!("{DEVICES}/{index}"));
                let device = device.into_known().unwrap_or("");
                device.lines().any(|line| line.trim() == "managed=true")
            })
        })
    }

    /// One for any interface keeps an address only if it has one.
    fn keeps_unnamed(&self, profile: &InterfaceProfile) -> bool {
        !profile.addresses.is_empty()
    }
}

fn parse(path: &str, text: &str) -> Vec<InterfaceProfile> {
    let mut profile = InterfaceProfile {
        file: path.to_owned(),
        format: Format::NetworkManager,
        matches: ProfileMatch::default(),
        addresses: Vec::new(),
        mtu: None,
        dhcp: false,
    };
    for (section, body) in sections(text) {
        for (key, value) in body {
            match (section, key) {
                ("connection", "interface-name") => profile.matches.names.push(value.to_owned()),
                ("match", "interface-name") => profile.matches.names.extend(list(value)),
                ("match", "driver") => profile.matches.drivers.extend(list(value)),
                ("ethernet" | "802-3-ethernet" | "infiniband", "mac-address") => {
                    profile.matches.macs.push(value.to_owned());
                }
                ("ethernet" | "802-3-ethernet" | "infiniband", "mtu") => {
                    profile.mtu = value.parse().ok();
                }
                ("ipv4" | "ipv6", "method") => profile.dhcp |= value == "auto",
                // `address1=10.0.0.1/24,10.0.0.254`: the gateway may follow.
                ("ipv4" | "ipv6", key) if key.starts_with("address") && key != "address-data" => {
                    let addresses = value
                        .split([';', ' '])
                        .filter_map(|part| part.split(',').next());
                    profile
                        .addresses
                        .extend(addresses.filter(|part| !part.is_empty()).map(str::to_owned));
                }
                _ => {}
            }
        }
    }
    vec![profile]
}

fn list(value: &str) -> impl Iterator<Item = String> + '_ {
    value
        .split([';', ','])
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .map(str::to_owned)
}

/// A NetworkManager profile, unless it is for Wi-Fi, a modem or a tunnel: their very names are private.
fn keyfile(text: &str) -> Option<String> {
    const WIRED: [&str; 8] = [
        "ethernet",
        "802-3-ethernet",
        "infiniband",
        "bond",
        "bridge",
        "vlan",
        "dummy",
        "macvlan",
    ];
    let mut connection = filter::in_sections(text)
        .filter(|(section, _)| *section == "connection")
        .filter_map(|(_, line)| line.split_once('='));
    let (_, kind) = connection.find(|(key, _)| key.trim() == "type")?;
    if !WIRED.contains(&kind.trim()) {
        return None;
    }
    filter::sections(text, |section, key| match (section, key) {
        (
            "connection" | "match" | "vlan" | "bond" | "infiniband" | "ethernet" | "802-3-ethernet"
            | "ipv4" | "ipv6",
            "",
        )
        | (
            "connection",
            "type"
            | "interface-name"
            | "autoconnect"
            | "autoconnect-priority"
            | "master"
            | "controller"
            | "slave-type"
            | "port-type",
        )
        | ("vlan", "id" | "parent" | "interface-name" | "flags")
        | ("bond", "mode" | "miimon" | "primary" | "lacp_rate" | "xmit_hash_policy")
        | ("infiniband", "mac-address" | "mtu" | "transport-mode" | "p-key" | "parent")
        | ("ethernet" | "802-3-ethernet", "mac-address" | "mtu")
        | ("ipv4" | "ipv6", "method" | "gateway" | "never-default" | "route-metric") => Kept::Word,
        ("match", "interface-name" | "driver" | "path") => Kept::List,
        ("ipv4" | "ipv6", key) if key.starts_with("address") || key.starts_with("route") => {
            Kept::Addresses
        }
        _ => Kept::Nothing,
    })
}

fn device(text: &str) -> Option<String> {
    filter::sections(text, |section, key| match (section, key) {
        ("device", "" | "managed" | "nm-owned") => Kept::Word,
        _ => Kept::Nothing,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_static_profile_is_read() {
        let text = "[connection]\ntype=ethernet\ninterface-name=en0\n[ethernet]\nmtu=9000\n[ipv4]\nmethod=manual\naddress1=10.0.0.1/24,10.0.0.254\n";
        let profile = parse("/x", text).remove(0);
        assert_eq!(profile.matches.names, ["en0"]);
        assert_eq!(profile.addresses, ["10.0.0.1/24"]);
        assert_eq!(profile.mtu, Some(9000));
        assert!(!profile.dhcp);
    }

    #[test]
    fn wifi_profiles_leave_no_trace() {
        assert_eq!(
            keyfile("[connection]\nid=HomeNet\ntype=wifi\n[wifi-security]\npsk=x\n"),
            None
        );
        // What some other section calls its type says nothing of the connection's.
        let text = "[bond]\ntype=ethernet\n[connection]\ntype=wifi\n[ipv4]\nmethod=auto\n";
        assert_eq!(keyfile(text), None);
        let kept = keyfile("[connection]\nid=Office\ntype=ethernet\ninterface-name=en0\n[802-1x]\npassword=x\n[ipv4]\nmethod=manual\naddress1=10.0.0.1/24\n").unwrap();
        assert_eq!(
            kept,
            "[connection]\ntype=ethernet\ninterface-name=en0\n[ipv4]\nmethod=manual\naddress1=10.0.0.1/24\n"
        );
        assert_eq!(keyfile(&kept).unwrap(), kept);
    }
}
