//! networkd's files, and what it says it manages.

use crosstie_model::{
    Reading,
    facts::{
        net::Manager,
        persistence::{Format, InterfaceProfile, PersistentNetworkConfig, ProfileMatch},
    },
};

use super::{
    Claim, RendererFiles,
    profiles::{each, is_made, sections, unhidden},
};
use crate::{
    RawCapture,
    collect::{
        CollectRule, FileFilter,
        filter::{self, Kept, is_plain, keyed, leading},
        rules::{filtered, rule},
    },
};

#[rustfmt::skip] // one rule a line reads as the table it is
pub(super) const RULES: &[CollectRule] = &[
    filtered("{etc,run,usr/lib}/systemd/network/{*.network,*.link,*.netdev}", network),
    filtered("{etc,run,usr/lib}/systemd/network/{*.network.d,*.link.d}/*.conf", network),
    rule("etc/systemd/network/*.crosstie~", FileFilter::Name),
    filtered("run/systemd/netif/links/*", link),
];
pub(super) const PROFILES: &str = "/etc/systemd/network/*.network";

const NETWORK: &str = "systemd/network";

pub(super) struct Networkd;

impl RendererFiles for Networkd {
    /// It comes with systemd.
    fn packages(&self) -> &'static [&'static str] {
        &[]
    }

    fn folders(&self) -> &'static [&'static str] {
        &[NETWORK]
    }

    fn endings(&self) -> &'static [&'static str] {
        &["link", "netdev", "network"]
    }

    /// systemd's own, where /usr/lib is not read.
    fn is_given(&self, name: &str) -> bool {
        name == "99-default.link"
    }

    fn path_part(&self) -> &'static str {
        "/systemd/network"
    }

    fn read(&self, raw: &RawCapture, found: &mut PersistentNetworkConfig) {
        for (place, names) in unhidden(raw, NETWORK) {
            let wanted = |name: &str| {
                is_network(name) && names.contains(name) && !is_made(&Manager::Networkd, name)
            };
            let folder = format!("{place}/{NETWORK}");
            found.profiles.extend(each(raw, &folder, wanted, parse));
        }
    }

    fn read_made(&self, raw: &RawCapture) -> Vec<InterfaceProfile> {
        let wanted = |name: &str| is_network(name) && is_made(&Manager::Networkd, name);
        each(raw, &format!("run/{NETWORK}"), wanted, parse)
    }

    fn claim<'a>(&self, raw: &'a RawCapture) -> Option<Claim<'a>> {
        const LINKS: &str = "run/systemd/netif/links";
        raw.exists(LINKS).then(|| -> Claim<'a> {
            Box::new(|_, index| {
                let state = raw.text(&format!("{LINKS}/{index}"));
                matches!(state, Reading::Value(text)
                    if text.contains("ADMIN_STATE=") && !text.contains("ADMIN_STATE=unmanaged"))
            })
        })
    }

    /// Such as a match by type; those that the distribution ships are for Wi-Fi and containers.
    fn keeps_unnamed(&self, profile: &InterfaceProfile) -> bool {
        !profile.file.starts_with("/usr/")
    }
}

fn is_network(name: &str) -> bool {
    name.strip_suffix(".network").is_some()
}

fn parse(path: &str, text: &str) -> Vec<InterfaceProfile> {
    let mut profile = InterfaceProfile {
        file: path.to_owned(),
        format: Format::Networkd,
        matches: ProfileMatch::default(),
        addresses: Vec::new(),
        mtu: None,
        dhcp: false,
    };
    let words = |value: &str| {
        value
            .split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    for (section, body) in sections(text) {
        for (key, value) in body {
            match (section, key) {
                ("Match", "Name") => profile.matches.names.extend(words(value)),
                ("Match", "MACAddress" | "PermanentMACAddress") => {
                    profile.matches.macs.extend(words(value));
                }
                ("Match", "Driver") => profile.matches.drivers.extend(words(value)),
                ("Network" | "Address", "Address") => profile.addresses.push(value.to_owned()),
                ("Network", "DHCP") => {
                    profile.dhcp |= !matches!(value, "no" | "false" | "off" | "0");
                }
                ("Link", "MTUBytes") => profile.mtu = value.parse().ok(),
                _ => {}
            }
        }
    }
    vec![profile]
}

fn network(text: &str) -> Option<String> {
    filter::sections(text, |section, key| match (section, key) {
        (
            "Match" | "Network" | "Address" | "Route" | "RoutingPolicyRule" | "Link" | "NetDev"
            | "VLAN" | "Bond" | "Bridge",
            "",
        )
        | (
            "Network",
            "Address"
            | "DHCP"
            | "Gateway"
            | "LinkLocalAddressing"
            | "IPv6AcceptRA"
            | "VLAN"
            | "Bond"
            | "Bridge"
            | "VRF"
            | "ConfigureWithoutCarrier"
            | "IgnoreCarrierLoss"
            | "KeepConfiguration"
            | "IPForward"
            | "IPv4Forwarding"
            | "IPv6Forwarding",
        )
        | ("Address", "Address" | "Scope" | "RouteMetric" | "AddPrefixRoute")
        | (
            "Route",
            "Destination" | "Gateway" | "Source" | "PreferredSource" | "Metric" | "Table" | "Scope"
            | "Type" | "GatewayOnLink",
        )
        | (
            "RoutingPolicyRule",
            "From" | "To" | "Table" | "Priority" | "IncomingInterface" | "OutgoingInterface"
            | "Family",
        )
        | (
            "Link",
            "Name"
            | "MTUBytes"
            | "MACAddress"
            | "MACAddressPolicy"
            | "ActivationPolicy"
            | "RequiredForOnline"
            | "Unmanaged"
            | "ARP"
            | "WakeOnLan"
            | "SR-IOVVirtualFunctions",
        )
        | ("NetDev", "Name" | "Kind" | "MTUBytes" | "MACAddress")
        | ("VLAN", "Id")
        | ("Bond", "Mode" | "MIIMonitorSec" | "LACPTransmitRate" | "TransmitHashPolicy")
        | ("Bridge", "STP" | "VLANFiltering") => Kept::Word,
        (
            "Match",
            "Name"
            | "OriginalName"
            | "MACAddress"
            | "PermanentMACAddress"
            | "Driver"
            | "Path"
            | "Type"
            | "Kind",
        )
        | ("Link", "NamePolicy") => Kept::Words,
        _ => Kept::Nothing,
    })
}

fn link(text: &str) -> Option<String> {
    let keys = ["ADMIN_STATE", "OPER_STATE"];
    keyed(text, '=', &keys, |value| leading(value, 1, is_plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_stand_in_either_section() {
        let text = "[Match]\nName=en0 en1\n[Network]\nAddress=10.0.0.1/24\nDHCP=no\n[Address]\nAddress=10.0.1.1/24\n[Link]\nMTUBytes=9000\n";
        let profile = parse("/x", text).remove(0);
        assert_eq!(profile.addresses, ["10.0.0.1/24", "10.0.1.1/24"]);
        assert_eq!(profile.matches.names, ["en0", "en1"]);
        assert_eq!(profile.mtu, Some(9000));
    }

    #[test]
    fn wireguard_keys_stay_on_the_node() {
        let kept = network("[NetDev]\nName=wg0\n[WireGuard]\nPrivateKey=abc\n").unwrap();
        assert_eq!(kept, "[NetDev]\nName=wg0\n");
    }

    #[test]
    fn what_follows_a_value_stays_on_the_node() {
        let text = "[Match]\nName=en0 en1 # x\n[Network]\nDescription=x\nAddress=10.0.0.1/24 x\nDHCP=no ;x\n\
            [WireGuard] # x\nName=x\n[Link]\nMTUBytes=9000\n";
        let kept = network(text).unwrap();
        assert_eq!(
            kept,
            "[Match]\nName=en0 en1\n[Network]\nAddress=10.0.0.1/24\nDHCP=no\n[Link]\nMTUBytes=9000\n"
        );
    }
}
