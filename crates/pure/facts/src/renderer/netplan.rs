//! Netplan: files of all places, merged by name order, with the renderer that is in force for each interface.

mod filter;
mod yaml;

use crosstie_model::facts::{
    net::Manager,
    persistence::{Format, InterfaceProfile, NetplanFile, PersistentNetworkConfig, ProfileMatch},
};
use serde_json::Value;

use super::{RendererFiles, profiles::unhidden};
use crate::{
    RawCapture,
    collect::{
        CollectRule, FileFilter,
        interface_name::is_given_by_system,
        is_uuid,
        rules::{filtered, rule},
        split_ending,
    },
};
use filter::{filter, is_other};

#[rustfmt::skip] // one rule a line reads as the table it is
pub(super) const RULES: &[CollectRule] = &[
    filtered("{etc,run,usr/lib}/netplan/*.yaml", filter),
    rule("etc/netplan/*.crosstie~", FileFilter::Name),
];
pub(super) const PROFILES: &str = "/etc/netplan/*.yaml";

/// Names that programs give to its files.
const GIVEN: [&str; 6] = [
    // subiquity, Ubuntu's installer
    "00-installer-config.yaml",
    "00-installer-config-wifi.yaml",
    // debian-installer on Ubuntu
    "01-netcfg.yaml",
    // Ubuntu's desktop, and netplan's own default
    "00-network-manager-all.yaml",
    "01-network-manager-all.yaml",
    // cloud-init
    "50-cloud-init.yaml",
];

pub(super) struct Netplan;

impl RendererFiles for Netplan {
    fn packages(&self) -> &'static [&'static str] {
        &["netplan"]
    }

    fn folders(&self) -> &'static [&'static str] {
        &["netplan"]
    }

    fn endings(&self) -> &'static [&'static str] {
        &["yaml", "yml"]
    }

    /// Those, and what netplan generates: `10-netplan-enp1s0f0np0.network`, `netplan-eno1.nmconnection`, and
    /// `netplan-NM-6ba7b810-9dad-11d1-80b4-00c04fd430c8.nmconnection` for a profile of NetworkManager's own.
    fn is_given(&self, name: &str) -> bool {
        let (stem, ending) = split_ending(name);
        let mut prefixes = self.makes().iter().map(|(_, prefix)| prefix);
        let id = prefixes.find_map(|prefix| stem.strip_prefix(prefix));
        let is_known = |id: &str| {
            let uuid = id.strip_prefix("NM-");
            id == "lo" || is_given_by_system(id) || uuid.is_some_and(is_uuid)
        };
        GIVEN.contains(&name) || (!ending.is_empty() && id.is_some_and(is_known))
    }

    fn path_part(&self) -> &'static str {
        "/netplan"
    }

    fn read(&self, raw: &RawCapture, found: &mut PersistentNetworkConfig) {
        read(raw, found);
    }

    fn makes(&self) -> &'static [(Manager, &'static str)] {
        &[
            (Manager::NetworkManager, "netplan-"),
            (Manager::Networkd, "10-netplan-"),
        ]
    }
}

fn read(raw: &RawCapture, found: &mut PersistentNetworkConfig) {
    let mut files: Vec<(String, String)> = unhidden(raw, "netplan")
        .into_iter()
        .flat_map(|(place, names)| {
            names
                .into_iter()
                .map(move |name| (name.to_owned(), format!("{place}/netplan/{name}")))
        })
        .filter(|(name, _)| name.strip_suffix(".yaml").is_some())
        .collect();
    files.sort();
    let mut documents = Vec::new();
    for (_, path) in files {
        let Some(text) = raw.text(&path).into_known() else {
            continue;
        };
        match yaml::parse(text) {
            Ok(document) => documents.push((format!("/{path}"), document)),
            Err(error) => {
                found.broken.insert(format!("/{path}"), error);
            }
        }
    }
    // A global renderer holds for every file; the last one wins.
    let global = documents
        .iter()
        .rev()
        .find_map(|(_, document)| renderer(document.get("network")?));
    for (path, document) in &documents {
        let network = document.get("network");
        found.netplan.push(NetplanFile {
            file: path.clone(),
            renderer: network.and_then(self::renderer).map(str::to_owned),
            others: network
                .and_then(Value::as_object)
                .is_some_and(|network| network.keys().any(|key| is_other(key))),
        });
        found
            .profiles
            .extend(profiles(path, document, global.unwrap_or("networkd")));
    }
}

fn renderer(value: &Value) -> Option<&str> {
    value.get("renderer")?.as_str()
}

fn profiles(path: &str, document: &Value, global: &str) -> Vec<InterfaceProfile> {
    let network = document.get("network").and_then(Value::as_object);
    network
        .into_iter()
        .flatten()
        .filter_map(|(kind, value)| {
            Some((renderer(value).unwrap_or(global), kind, value.as_object()?))
        })
        .filter(|(_, kind, _)| kind.ends_with('s'))
        .flat_map(|(renderer, _, interfaces)| {
            interfaces
                .iter()
                .filter(|(name, _)| *name != "renderer")
                .map(move |(id, body)| profile(path, id, body, renderer))
        })
        .collect()
}

fn profile(path: &str, id: &str, body: &Value, inherited: &str) -> InterfaceProfile {
    let format = match renderer(body).unwrap_or(inherited) {
        "NetworkManager" => Format::NetplanNetworkManager,
        _ => Format::NetplanNetworkd,
    };
    InterfaceProfile {
        file: path.to_owned(),
        format,
        matches: matches(id, body.get("match")),
        addresses: addresses(body),
        mtu: body
            .get("mtu")
            .and_then(Value::as_u64)
            .and_then(|mtu| mtu.try_into().ok()),
        dhcp: truthy(body.get("dhcp4")) || truthy(body.get("dhcp6")),
    }
}

/// Without `match`, the id is the interface's name.
fn matches(id: &str, conditions: Option<&Value>) -> ProfileMatch {
    let Some(conditions) = conditions else {
        return ProfileMatch {
            names: vec![id.to_owned()],
            ..ProfileMatch::default()
        };
    };
    let list = |key: &str| match conditions.get(key) {
        Some(Value::String(one)) => vec![one.clone()],
        Some(Value::Array(many)) => many
            .iter()
            .filter_map(|item| item.as_str().map(str::to_owned))
            .collect(),
        _ => Vec::new(),
    };
    ProfileMatch {
        names: list("name"),
        macs: list("macaddress"),
        drivers: list("driver"),
    }
}

/// Plain strings, or objects whose key is the address.
fn addresses(body: &Value) -> Vec<String> {
    let items = body
        .get("addresses")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    items
        .flat_map(|item| match item {
            Value::String(text) => vec![text.clone()],
            Value::Object(fields) => fields.keys().cloned().collect(),
            _ => Vec::new(),
        })
        .collect()
}

/// YAML 1.1 booleans, as netplan reads them.
fn truthy(value: Option<&Value>) -> bool {
    match value {
        Some(Value::Bool(on)) => *on,
        Some(Value::String(word)) => {
            matches!(word.to_lowercase().as_str(), "yes" | "true" | "on" | "y")
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raw::CaptureEntry;

    fn read_files(files: &[(&str, &str)]) -> PersistentNetworkConfig {
        let mut raw = RawCapture::default();
        for (path, text) in files {
            raw.insert(path, CaptureEntry::File(text.as_bytes().to_vec()));
        }
        let mut found = PersistentNetworkConfig::default();
        read(&raw, &mut found);
        found
    }

    #[test]
    fn a_global_renderer_holds_for_every_file() {
        let found = read_files(&[
            (
                "etc/netplan/40-fabric.yaml",
                "network:\n  ethernets:\n    enp1s0f1np1: {dhcp4: no, mtu: 9000, addresses: [192.168.177.11/24]}\n",
            ),
            (
                "usr/lib/netplan/00-network-manager-all.yaml",
                "network: {version: 2, renderer: NetworkManager}\n",
            ),
        ]);
        assert_eq!(found.profiles[0].format, Format::NetplanNetworkManager);
        assert_eq!(found.profiles[0].addresses, ["192.168.177.11/24"]);
        assert!(!found.profiles[0].dhcp);
    }

    #[test]
    fn a_file_in_etc_hides_its_namesake_and_a_broken_one_is_named() {
        let found = read_files(&[
            (
                "etc/netplan/a.yaml",
                "network: {ethernets: {x: {dhcp4: yes, match: {driver: mlx5*}}}}",
            ),
            ("run/netplan/a.yaml", "network: {ethernets: {y: {}}}"),
            ("etc/netplan/b.yaml", "network: ["),
        ]);
        assert_eq!(found.profiles.len(), 1);
        assert_eq!(found.profiles[0].matches.drivers, ["mlx5*"]);
        assert!(found.profiles[0].dhcp);
        assert!(found.broken.contains_key("/etc/netplan/b.yaml"));
    }
}
