//! `/etc/network/interfaces`.

use crosstie_model::facts::persistence::{Format, Match, Profile};

pub(super) fn parse(path: &str, text: &str) -> Vec<Profile> {
    let mut profiles: Vec<Profile> = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match (words.as_slice(), profiles.last_mut()) {
            (["iface", name, rest @ ..], _) => profiles.push(Profile {
                file: path.to_owned(),
                format: Format::Ifupdown,
                matches: Match {
                    names: vec![(*name).to_owned()],
                    ..Match::default()
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
}
