//! Netplan's files cut to what they say of wired interfaces: no key, password or Wi-Fi name.

use serde_json::Value;

use super::yaml;
use crate::collect::{
    filter::is_plain,
    secret::{WITHHELD, is_secret},
};

/// Keys of netplan that are kept, at any depth below the definition of an interface.
const NETPLAN_KEYS: &[&str] = &[
    "version",
    "renderer",
    "match",
    "macaddress",
    "name",
    "driver",
    "set-name",
    "dhcp4",
    "dhcp6",
    "accept-ra",
    "addresses",
    "gateway4",
    "gateway6",
    "routes",
    "to",
    "via",
    "metric",
    "table",
    "on-link",
    "scope",
    "from",
    "routing-policy",
    "priority",
    "mtu",
    "optional",
    "ignore-carrier",
    "critical",
    "link-local",
    "interfaces",
    "parameters",
    "mode",
    "id",
    "link",
    "activation-mode",
    "wakeonlan",
    "virtual-function-count",
    "embedded-switch-mode",
    "infiniband-mode",
];
const NETPLAN_KINDS: &[&str] = &[
    "ethernets",
    "bonds",
    "bridges",
    "vlans",
    "dummy-devices",
    "vrfs",
];

/// Stands for all definitions that are left out.
const OTHERS: &str = "others";

/// Whether a key of netplan's is for something else than wired interfaces.
pub(super) fn is_other(key: &str) -> bool {
    !NETPLAN_KINDS.contains(&key) && !NETPLAN_KEYS.contains(&key)
}

/// Netplan's YAML cut to wired interfaces, written as JSON, which is YAML too. What does not parse is kept as a
/// mark that it does not: the plan must not touch a node whose files are broken.
pub(super) fn filter(text: &str) -> Option<String> {
    let Ok(document) = yaml::parse(text) else {
        return Some(yaml::BROKEN.to_owned());
    };
    let network = document.get("network").and_then(Value::as_object);
    let mut kept = serde_json::Map::new();
    for (key, value) in network.into_iter().flatten() {
        if NETPLAN_KINDS.contains(&key.as_str()) {
            let interfaces = value.as_object().into_iter().flatten();
            let interfaces = interfaces.map(|(name, body)| (word(name), allowed(body)));
            kept.insert(key.clone(), interfaces.collect());
        } else if NETPLAN_KEYS.contains(&key.as_str()) {
            kept.insert(key.clone(), allowed(value));
        } else if is_other(key) {
            // Nothing of a Wi-Fi but that there is one: such a file is not for one port alone.
            kept.insert(OTHERS.to_owned(), Value::Bool(true));
        }
    }
    // One for Wi-Fi, modems or tunnels alone is nothing of ours: its name may be that of a network.
    if kept.contains_key(OTHERS) && kept.keys().all(|key| key == OTHERS || key == "version") {
        return None;
    }
    let document = serde_json::json!({ "network": kept });
    Some(format!("{document:#}\n"))
}

fn allowed(value: &Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .iter()
            .filter(|(key, _)| NETPLAN_KEYS.contains(&key.as_str()) || is_address(key))
            .map(|(key, value)| (key.clone(), allowed(value)))
            .collect(),
        Value::Array(items) => items.iter().map(allowed).collect(),
        Value::String(text) => Value::String(word(text)),
        plain => plain.clone(),
    }
}

/// The first word, if there is nothing in it that does not belong there.
fn word(text: &str) -> String {
    const LONGEST: usize = 128;
    let word = text.split_whitespace().next().unwrap_or("");
    let listed = is_plain(word) && word.len() <= LONGEST && !is_secret(word);
    if listed { word } else { WITHHELD }.to_owned()
}

/// An address may be a key, with its options below it.
fn is_address(key: &str) -> bool {
    key.parse::<ipnet::IpNet>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn netplan_keeps_wires_and_drops_wifi() {
        let text = "network:\n  version: 2\n  wifis:\n    wl0:\n      access-points:\n        HomeNet: {password: geheim}\n  ethernets:\n    en0:\n      mtu: 9000\n      addresses: [10.0.0.1/24, {10.0.0.2/24: {label: x}}]\n      auth: {password: geheim}\n";
        let kept = filter(text).unwrap();
        assert!(
            !kept.contains("geheim") && !kept.contains("HomeNet"),
            "{kept}"
        );
        assert!(
            kept.contains("10.0.0.1/24") && kept.contains("10.0.0.2/24") && kept.contains("9000")
        );
        assert_eq!(filter(&kept).unwrap(), kept);
    }

    #[test]
    fn broken_netplan_is_marked_broken() {
        let kept = filter("network:\n\t bad: [").unwrap();
        assert!(yaml::parse(&kept).is_err());
        assert_eq!(filter(&kept).unwrap(), kept);
    }
}
