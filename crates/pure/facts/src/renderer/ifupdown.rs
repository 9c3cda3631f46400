//! `/etc/network/interfaces`.

use std::collections::HashSet;

use crosstie_model::facts::persistence::{
    Format, InterfaceProfile, PersistentNetworkConfig, ProfileMatch,
};

use super::{Claim, RendererFiles, profiles::each};
use crate::{
    RawCapture,
    collect::{
        CollectRule,
        filter::{is_plain, leading, lines},
        rules::filtered,
    },
};

#[rustfmt::skip] // one rule a line reads as the table it is
pub(super) const RULES: &[CollectRule] = &[
    filtered("etc/network/interfaces", filter),
    filtered("etc/network/interfaces.d/*", filter),
    filtered("run/network/ifstate", states),
];
pub(super) const PROFILES: &str = "/etc/network/interfaces";

pub(super) struct Ifupdown;

impl RendererFiles for Ifupdown {
    fn packages(&self) -> &'static [&'static str] {
        &["ifupdown"]
    }

    fn folders(&self) -> &'static [&'static str] {
        &["network/interfaces.d"]
    }

    /// cloud-init's, and its own.
    fn is_given(&self, name: &str) -> bool {
        ["50-cloud-init", "lo"].contains(&name)
    }

    fn path_part(&self) -> &'static str {
        "/etc/network"
    }

    fn read(&self, raw: &RawCapture, found: &mut PersistentNetworkConfig) {
        let files = each(raw, "etc/network/interfaces.d", |_| true, parse);
        found.profiles.extend(files);
        if let Some(text) = raw.text("etc/network/interfaces").known() {
            found
                .profiles
                .extend(parse("/etc/network/interfaces", text));
        }
    }

    fn claim<'a>(&self, raw: &'a RawCapture) -> Option<Claim<'a>> {
        const STATE: &str = "run/network/ifstate";
        raw.exists(STATE).then(|| -> Claim<'a> {
            let lines = raw.text(STATE).into_known().unwrap_or("").lines();
            let lines: HashSet<&str> = lines.map(str::trim).collect();
            Box::new(move |name, _| lines.contains(format!("{name}={name}").as_str()))
        })
    }
}

fn parse(path: &str, text: &str) -> Vec<InterfaceProfile> {
    let mut profiles: Vec<InterfaceProfile> = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match (words.as_slice(), profiles.last_mut()) {
            (["iface", name, rest @ ..], _) => profiles.push(InterfaceProfile {
                file: path.to_owned(),
                format: Format::Ifupdown,
                matches: ProfileMatch {
                    names: vec![(*name).to_owned()],
                    ..ProfileMatch::default()
                },
                addresses: Vec::new(),
                mtu: None,
                dhcp: rest.last() == Some(&"dhcp"),
            }),
            (["address", address, ..], Some(profile)) => {
                profile.addresses.push((*address).to_owned());
            }
            (["mtu", mtu, ..], Some(profile)) => profile.mtu = mtu.parse().ok(),
            _ => {}
        }
    }
    // The loopback's stanza is in every such file and covers nothing.
    profiles.retain(|profile| profile.matches.names != ["lo"]);
    profiles
}

/// Interface stanzas, without the commands that may hang off them.
fn filter(text: &str) -> Option<String> {
    lines(text, |line| {
        let words = match line.split_whitespace().next()? {
            "auto" | "allow-hotplug" | "bond-slaves" | "bridge_ports" => usize::MAX,
            // `iface NAME FAMILY METHOD`
            "iface" => 4,
            // `hwaddress ether ADDRESS`
            "hwaddress" => 3,
            "address" | "netmask" | "gateway" | "mtu" | "vlan-raw-device" | "bond-mode" => 2,
            _ => return None,
        };
        Some(leading(line, words, is_plain).to_owned())
    })
}

/// `INTERFACE=DEFINITION`, where the definition is called after the interface.
fn states(text: &str) -> Option<String> {
    lines(text, |line| {
        let (interface, definition) = line.split_once('=')?;
        (is_plain(interface) && interface == leading(definition, 1, is_plain))
            .then(|| format!("{interface}={interface}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stanzas_become_profiles() {
        let text = "auto lo\niface lo inet loopback\nallow-hotplug eth0\niface eth0 inet dhcp\niface en1 inet static\n\taddress 10.0.0.1/24\n\tmtu 9000\n";
        let profiles = parse("/x", text);
        assert_eq!(profiles.len(), 2);
        assert!(profiles[0].dhcp);
        assert_eq!(
            (profiles[1].addresses[0].as_str(), profiles[1].mtu),
            ("10.0.0.1/24", Some(9000))
        );
    }

    #[test]
    fn what_follows_a_value_stays_on_the_node() {
        let kept = filter("iface en0 inet static # x\n address 10.0.0.1 x\n up x\nauto en0 ;x\n");
        assert_eq!(
            kept.unwrap(),
            "iface en0 inet static\n address 10.0.0.1\nauto en0\n"
        );
    }
}
