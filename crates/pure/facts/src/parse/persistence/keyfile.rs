//! NetworkManager profiles.

use crosstie_model::facts::persistence::{Format, Match, Profile};

pub(super) fn parse(path: &str, text: &str) -> Vec<Profile> {
    let mut profile = Profile {
        file: path.to_owned(),
        format: Format::NetworkManager,
        matches: Match::default(),
        addresses: Vec::new(),
        mtu: None,
        dhcp: false,
    };
    for (section, body) in super::sections(text) {
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
}
