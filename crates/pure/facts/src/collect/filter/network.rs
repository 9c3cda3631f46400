//! Network configuration: what it says of wired interfaces, and no key, password or Wi-Fi name.

use serde_json::Value;

use super::{
    is_comment, keyed, lines,
    word::{is_plain, leading},
};
use crate::collect::secret::{WITHHELD, is_secret};

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
pub(crate) fn is_other(key: &str) -> bool {
    !NETPLAN_KINDS.contains(&key) && !NETPLAN_KEYS.contains(&key)
}

/// Netplan's YAML cut to wired interfaces, written as JSON, which is YAML too. What does not parse is kept as a
/// mark that it does not: the plan must not touch a node whose files are broken.
pub(in crate::collect) fn netplan(text: &str) -> Option<String> {
    let Ok(document) = crate::yaml::parse(text) else {
        return Some(crate::yaml::BROKEN.to_owned());
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

/// Every line that is no comment, with the section that it is in. A heading is in its own.
fn in_sections(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut section = "";
    let plain = text.lines().filter(|line| !is_comment(line));
    plain.map(move |line| {
        let line = line.trim();
        if line.starts_with('[') {
            // What stands below a heading that cannot be read belongs to no section that is listed.
            section = heading(line).unwrap_or("");
        }
        (section, line)
    })
}

fn heading(line: &str) -> Option<&str> {
    line.strip_prefix('[')?.strip_suffix(']')
}

/// How much of a value is kept.
#[derive(Clone, Copy)]
enum Kept {
    Nothing,
    Word,
    /// Divided by semicolons, as NetworkManager's are.
    List,
    Words,
    Addresses,
}

impl Kept {
    fn of(self, value: &str) -> &str {
        let is_address = |word: &str| {
            word.bytes()
                .all(|byte| byte.is_ascii_hexdigit() || b":./,;".contains(&byte))
        };
        let is_list = |word: &str| word.split(';').all(is_plain);
        match self {
            Self::Nothing => "",
            Self::Word => leading(value, 1, is_plain),
            Self::List => leading(value, 1, is_list),
            Self::Words => leading(value, usize::MAX, is_plain),
            Self::Addresses => leading(value, usize::MAX, is_address),
        }
    }
}

/// Keeps the lines of allow-listed sections, by section and key. A heading has no key.
fn sections(text: &str, keep: impl Fn(&str, &str) -> Kept) -> Option<String> {
    let mut kept = String::new();
    for (section, line) in in_sections(text) {
        if line.starts_with('[') {
            let listed = heading(line).is_some() && !matches!(keep(section, ""), Kept::Nothing);
            if listed {
                kept.extend(["[", section, "]\n"]);
            }
            continue;
        }
        let Some((key, value)) = line.split_once('=') else {
            continue;
        };
        let (key, rule) = (key.trim(), keep(section, key.trim()));
        let found = rule.of(value.trim());
        let listed = !key.is_empty() && is_plain(key) && !matches!(rule, Kept::Nothing);
        if listed && (!found.is_empty() || value.trim().is_empty()) {
            kept.extend([key, "=", found, "\n"]);
        }
    }
    (!kept.is_empty()).then_some(kept)
}

/// A NetworkManager profile, unless it is for Wi-Fi, a modem or a tunnel: their very names are private.
pub(in crate::collect) fn keyfile(text: &str) -> Option<String> {
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
    let mut connection = in_sections(text)
        .filter(|(section, _)| *section == "connection")
        .filter_map(|(_, line)| line.split_once('='));
    let (_, kind) = connection.find(|(key, _)| key.trim() == "type")?;
    if !WIRED.contains(&kind.trim()) {
        return None;
    }
    sections(text, |section, key| match (section, key) {
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

pub(in crate::collect) fn networkd(text: &str) -> Option<String> {
    sections(text, |section, key| match (section, key) {
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

/// Interface stanzas, without the commands that may hang off them.
pub(in crate::collect) fn ifupdown(text: &str) -> Option<String> {
    lines(text, |line| {
        let words = match line.split_whitespace().next()? {
            "auto" | "allow-hotplug" | "bond-slaves" | "bridge_ports" => usize::MAX,
            // `iface NAME FAMILY METHOD`
            "iface" => 4,
            // `hwaddress ether ADDRESS`
            "hwaddress" => 3,
            "address" | "netmask" | "gateway" | "mtu" | "source" | "source-directory"
            | "vlan-raw-device" | "bond-mode" => 2,
            _ => return None,
        };
        Some(leading(line, words, is_plain).to_owned())
    })
}

pub(in crate::collect) fn nm_device(text: &str) -> Option<String> {
    sections(text, |section, key| match (section, key) {
        ("device", "" | "managed" | "nm-owned") => Kept::Word,
        _ => Kept::Nothing,
    })
}

pub(in crate::collect) fn networkd_link(text: &str) -> Option<String> {
    let keys = ["ADMIN_STATE", "OPER_STATE"];
    keyed(text, '=', &keys, |value| leading(value, 1, is_plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn netplan_keeps_wires_and_drops_wifi() {
        let text = "network:\n  version: 2\n  wifis:\n    wl0:\n      access-points:\n        HomeNet: {password: geheim}\n  ethernets:\n    en0:\n      mtu: 9000\n      addresses: [10.0.0.1/24, {10.0.0.2/24: {label: x}}]\n      auth: {password: geheim}\n";
        let kept = netplan(text).unwrap();
        assert!(
            !kept.contains("geheim") && !kept.contains("HomeNet"),
            "{kept}"
        );
        assert!(
            kept.contains("10.0.0.1/24") && kept.contains("10.0.0.2/24") && kept.contains("9000")
        );
        assert_eq!(netplan(&kept).unwrap(), kept);
    }

    #[test]
    fn broken_netplan_is_marked_broken() {
        let kept = netplan("network:\n\t bad: [").unwrap();
        assert!(crate::yaml::parse(&kept).is_err());
        assert_eq!(netplan(&kept).unwrap(), kept);
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

    #[test]
    fn wireguard_keys_stay_on_the_node() {
        let kept = networkd("[NetDev]\nName=wg0\n[WireGuard]\nPrivateKey=abc\n").unwrap();
        assert_eq!(kept, "[NetDev]\nName=wg0\n");
    }

    #[test]
    fn what_follows_a_value_stays_on_the_node() {
        let text = "[Match]\nName=en0 en1 # x\n[Network]\nDescription=x\nAddress=10.0.0.1/24 x\nDHCP=no ;x\n\
            [WireGuard] # x\nName=x\n[Link]\nMTUBytes=9000\n";
        let kept = networkd(text).unwrap();
        assert_eq!(
            kept,
            "[Match]\nName=en0 en1\n[Network]\nAddress=10.0.0.1/24\nDHCP=no\n[Link]\nMTUBytes=9000\n"
        );
        let kept = ifupdown("iface en0 inet static # x\n address 10.0.0.1 x\n up x\nauto en0 ;x\n");
        assert_eq!(
            kept.unwrap(),
            "iface en0 inet static\n address 10.0.0.1\nauto en0\n"
        );
    }
}
