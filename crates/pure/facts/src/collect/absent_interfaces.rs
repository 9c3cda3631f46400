//! Names of interfaces that a node does not have, in the files of those who configure interfaces. A definition may be called anything,
//! and so may what it refers to. A capture for others has numbers in place of such names, the same in all files, so that the files still
//! agree with each other; facts are about interfaces that are there.

use std::collections::{BTreeMap, BTreeSet};

use crosstie_model::managed::{FileOrigin, origin};
use serde_json::Value;

use super::{interface_name::is_given_by_system, is_number, is_uuid, secret::WITHHELD};
use crate::{
    raw::{CaptureEntry, RawCapture},
    renderer,
};

/// In place of a name.
const PLACEHOLDER: &str = "interface";

/// Netplan's keys whose values are names of interfaces, at any depth below a definition.
const NETPLAN_KEYS: [&str; 4] = ["interfaces", "link", "name", "set-name"];
/// Beside the definitions of a kind.
const RENDERER: &str = "renderer";

/// The same of networkd's files and of keyfiles.
const KEYS: [&str; 15] = [
    "Name",
    "OriginalName",
    "VLAN",
    "Bond",
    "Bridge",
    "VRF",
    "IncomingInterface",
    "OutgoingInterface",
    "interface-name",
    "master",
    "controller",
    "parent",
    "primary",
    "device",
    "ifname",
];

/// The same capture with numbers for such names.
pub fn rename_absent_interfaces(raw: &RawCapture) -> RawCapture {
    let present = present(raw);
    let texts: Vec<(&str, &str)> = texts(raw).collect();
    let (ours, others): (Vec<_>, Vec<_>) = texts
        .into_iter()
        .partition(|(_, text)| origin(text) == FileOrigin::Ours);
    let mut found: BTreeSet<String> = BTreeSet::new();
    for (path, text) in others.iter().filter(|(path, _)| is_private(path)) {
        renamed(path, text, &mut |name| {
            found.insert(name.to_owned());
            None
        });
    }
    let taken: BTreeSet<usize> = found
        .iter()
        .chain(&present)
        .filter_map(|name| number(name))
        .collect();
    // A file of ours is kept as it was sealed.
    let is_ours = |name: &str| ours.iter().any(|(_, text)| text.contains(name));
    found.retain(|name| is_named_by_people(name) && !present.contains(name) && !is_ours(name));
    let numbers = (1..).filter(|number| !taken.contains(number));
    let new: BTreeMap<String, String> = found
        .into_iter()
        .zip(numbers)
        .map(|(name, number)| (name, format!("{PLACEHOLDER}{number}")))
        .collect();
    let mut kept = raw.clone();
    for (path, text) in others {
        let text = renamed(path, text, &mut |name| new.get(name).cloned());
        if let Some(text) = text {
            kept.insert(path, CaptureEntry::File(text.into_bytes()));
        }
    }
    kept
}

/// Interfaces that the node has.
fn present(raw: &RawCapture) -> BTreeSet<String> {
    let addresses = raw.command("ip-addr.json").into_known().unwrap_or_default();
    let addresses: Vec<Value> = serde_json::from_str(addresses).unwrap_or_default();
    let links = addresses
        .iter()
        .filter_map(|link| link.get("ifname")?.as_str());
    let links = links.chain(raw.names("sys/class/net"));
    links.map(str::to_owned).collect()
}

fn texts(raw: &RawCapture) -> impl Iterator<Item = (&str, &str)> {
    let files = raw.tree().filter(|(path, _)| renderer::is_renderers(path));
    files.filter_map(|(path, entry)| match entry {
        CaptureEntry::File(bytes) => Some((path, std::str::from_utf8(bytes).ok()?)),
        _ => None,
    })
}

/// Files in which a name need not be an interface's, and what generators made of such. Those that people write for networkd name
/// interfaces alone.
fn is_private(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_made = renderer::made_prefixes().any(|made| name.starts_with(made));
    is_made || is_netplans(path) || path.contains("/NetworkManager/")
}

fn is_netplans(path: &str) -> bool {
    path.contains("/netplan/")
}

fn is_named_by_people(name: &str) -> bool {
    let is_mac = name
        .bytes()
        .all(|byte| byte.is_ascii_hexdigit() || byte == b':');
    let is_pattern = name.contains(['*', '?', '[', '!']);
    let is_known = ["lo", WITHHELD].contains(&name) || is_given_by_system(name);
    !is_mac && !is_pattern && !is_known && !is_uuid(name) && number(name).is_none()
}

fn number(name: &str) -> Option<usize> {
    let number = name.strip_prefix(PLACEHOLDER)?;
    number.parse().ok().filter(|_| is_number(number))
}

/// The text with other names where `new` has one for a name; `None` if that is no text of the file's format.
fn renamed(path: &str, text: &str, new: &mut dyn FnMut(&str) -> Option<String>) -> Option<String> {
    if !is_netplans(path) {
        let lines = text.lines().map(|line| assignment(line, new) + "\n");
        return Some(lines.collect());
    }
    // Our mark, of a file that was ours.
    let start = text.find('{')?;
    let mut document: Value = serde_json::from_str(&text[start..]).ok()?;
    let network = document.get_mut("network")?.as_object_mut()?;
    for definitions in network.values_mut().filter_map(Value::as_object_mut) {
        for (id, mut body) in std::mem::take(definitions) {
            rename_values(&mut body, false, new);
            let id = (id != RENDERER).then(|| new(&id)).flatten().unwrap_or(id);
            definitions.insert(id, body);
        }
    }
    Some(format!("{}{document:#}\n", &text[..start]))
}

fn rename_values(value: &mut Value, is_name: bool, new: &mut dyn FnMut(&str) -> Option<String>) {
    match value {
        Value::String(name) if is_name => {
            if let Some(other) = new(name) {
                *name = other;
            }
        }
        Value::Array(items) => {
            for item in items {
                rename_values(item, is_name, new);
            }
        }
        Value::Object(fields) => {
            for (key, value) in fields {
                rename_values(value, NETPLAN_KEYS.contains(&key.as_str()), new);
            }
        }
        _ => {}
    }
}

/// `KEY=NAME NAME`, or `key=name;name`.
fn assignment(line: &str, new: &mut dyn FnMut(&str) -> Option<String>) -> String {
    let Some((key, value)) = line.split_once('=').filter(|(key, _)| KEYS.contains(key)) else {
        return line.to_owned();
    };
    let names = value.split_inclusive([' ', ';']).map(|part| {
        let name = part.trim_end_matches([' ', ';']);
        let end = &part[name.len()..];
        new(name).unwrap_or_else(|| name.to_owned()) + end
    });
    format!("{key}={}", names.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{collect::collect_all, facts};

    fn tree(files: &[(&str, &str)]) -> RawCapture {
        let mut raw = RawCapture::default();
        for (path, text) in files {
            raw.insert(path, CaptureEntry::File(text.as_bytes().to_vec()));
        }
        let names = ["br-lan", "eth0", "fabric0", "vlan77"];
        let links = names.map(|name| serde_json::json!({ "ifindex": 1, "ifname": name }));
        let addresses = Value::from(links.to_vec()).to_string();
        raw.insert_command("ip-addr.json", CaptureEntry::File(addresses.into_bytes()));
        raw
    }

    fn cut(raw: &RawCapture) -> RawCapture {
        let mut kept = collect_all(raw);
        for (name, entry) in raw.commands() {
            kept.insert_command(name, entry.clone());
        }
        rename_absent_interfaces(&kept)
    }

    #[test]
    fn definitions_and_references_are_numbers_and_still_agree() {
        let raw = tree(&[
            (
                "etc/netplan/60-a.yaml",
                "network:\n  wifis: {home-of-alice: {}}\n  ethernets:\n    alice-port: {match: {macaddress: '4e:10:20:30:0b:11'}, set-name: zeus0}\n  \
                 bonds: {acme: {interfaces: [alice-port, eth0], mtu: 9000}}\n  bridges: {br0: {interfaces: [home-of-alice, acme]}}\n  \
                 vlans: {vlan77: {id: 77, link: acme}}\n",
            ),
            (
                "run/systemd/network/10-netplan-a.network",
                "[Match]\nName=acme\n[Network]\nBridge=br0\nVLAN=vlan77\nDHCP=no\n",
            ),
            (
                "etc/NetworkManager/system-connections/a.nmconnection",
                "[connection]\ntype=ethernet\ninterface-name=zeus0\ncontroller=6ba7b810-9dad-11d1-80b4-00c04fd430c8\n\
                 [match]\ninterface-name=eth0;alice1;\n",
            ),
        ]);
        let kept = cut(&raw);
        let text = |path: &str| kept.text(path).into_known().unwrap();
        let all = format!(
            "{}{}{}",
            text("etc/netplan/60-a.yaml"),
            text("run/systemd/network/10-netplan-a.network"),
            text("etc/NetworkManager/system-connections/a.nmconnection")
        );
        for name in ["alice", "acme", "zeus", "home"] {
            assert!(!all.contains(name), "{name}: {all}");
        }
        let netplan: Value = serde_json::from_str(text("etc/netplan/60-a.yaml")).unwrap();
        let network = &netplan["network"];
        let bond = network["vlans"]["vlan77"]["link"].as_str().unwrap();
        assert_eq!(network["bonds"][bond]["interfaces"][1], "eth0");
        assert_eq!(network["bridges"]["br0"]["interfaces"][1], bond);
        let made = text("run/systemd/network/10-netplan-a.network");
        assert_eq!(
            made,
            format!("[Match]\nName={bond}\n[Network]\nBridge=br0\nVLAN=vlan77\nDHCP=no")
        );
        assert_eq!(rename_absent_interfaces(&kept), kept);
        assert_eq!(cut(&kept), kept);
    }

    #[test]
    fn names_of_interfaces_that_are_there_stay() {
        let raw = tree(&[
            (
                "etc/netplan/60-a.yaml",
                "network:\n  ethernets: {fabric0: {mtu: 9000}, eth0: {}, 'acme*': {}}\n  bridges: {br-lan: {interfaces: [eth0]}}\n",
            ),
            (
                "run/systemd/network/10-netplan-br-lan.network",
                "[Match]\nName=br-lan\n",
            ),
        ]);
        let live = {
            let mut live = collect_all(&raw);
            for (name, entry) in raw.commands() {
                live.insert_command(name, entry.clone());
            }
            live
        };
        assert_eq!(rename_absent_interfaces(&live), live);
        assert_eq!(facts(&cut(&raw)), facts(&raw));
    }
}
