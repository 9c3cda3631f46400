//! Netplan's YAML. The renderer stands with each interface: a global one would move others, management too.

use std::fmt::Write;

use crosstie_model::facts::net::Manager;

use super::Wanted;

pub(crate) fn netplan(interfaces: &[&Wanted]) -> String {
    let mut text = String::from("network:\n  version: 2\n  ethernets:\n");
    for wanted in interfaces {
        let renderer = if wanted.renderer.manager() == Manager::NetworkManager {
            "NetworkManager"
        } else {
            "networkd"
        };
        // `optional`: an unplugged cable must not hold up the boot.
        let _ = write!(
            text,
            "    {}:\n      renderer: {renderer}\n      optional: true\n      dhcp4: false\n      dhcp6: false\n      \
             accept-ra: false\n",
            quoted(&wanted.name)
        );
        if renderer == "networkd" {
            // Addresses, and so GID indices, stay when the link flaps.
            text.push_str("      ignore-carrier: true\n");
        }
        if let Some(mtu) = wanted.mtu {
            let _ = writeln!(text, "      mtu: {mtu}");
        }
        if !wanted.addresses.is_empty() {
            text.push_str("      addresses:\n");
        }
        for address in &wanted.addresses {
            let _ = writeln!(text, "        - {}", quoted(&address.to_string()));
        }
    }
    text
}

/// JSON's strings are YAML's.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
