//! systemd.network files.

use crosstie_model::facts::persistence::{Format, Match, Profile};

pub(super) fn parse(path: &str, text: &str) -> Vec<Profile> {
    let mut profile = Profile {
        file: path.to_owned(),
        format: Format::Networkd,
        matches: Match::default(),
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
    for (section, body) in super::sections(text) {
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
}
