//! Network interfaces: sysfs and `ip` together.

use std::collections::HashMap;

use crosstie_model::{
    Mtu, Reading,
    facts::{
        NamedCounters, PciDevice, PersistentNetworkConfig,
        net::{Interface, NetworkFacts},
    },
};
use serde_json::Value;

use super::{ethtool, firewall, hex, ip, manager::ManagerLookup, number, qos, string};
use crate::RawCapture;

const CLASS: &str = "sys/class/net";

pub(super) fn network(
    raw: &RawCapture,
    pci: &[PciDevice],
    persistence: &PersistentNetworkConfig,
) -> NetworkFacts {
    let links = ip::links(raw).into_known().unwrap_or_default();
    let managers = ManagerLookup::new(raw, persistence);
    let mut names: Vec<&str> = raw
        .names(CLASS)
        .into_iter()
        .filter(|name| *name != "bonding_masters")
        .chain(links.iter().filter_map(|link| link.get("ifname")?.as_str()))
        .collect();
    names.sort_unstable();
    names.dedup();
    // The first of a name counts.
    let mut by_name: HashMap<&str, &Value> = HashMap::new();
    for link in &links {
        if let Some(name) = link.get("ifname").and_then(Value::as_str) {
            by_name.entry(name).or_insert(link);
        }
    }
    let none = Value::Null;
    let interfaces = names.into_iter().map(|name| {
        let mut interface = interface(raw, name, by_name.get(name).copied().unwrap_or(&none));
        let driver = interface.pci.known().and_then(|address| {
            let index = pci
                .binary_search_by_key(address, |device| device.address)
                .ok()?;
            pci[index].driver.known()
        });
        interface.manager = managers.of(&interface, driver.map(String::as_str));
        interface
    });
    NetworkFacts {
        interfaces: interfaces.collect(),
        routes: ip::routes(raw),
        rules: ip::rules(raw),
        neighbours: ip::neighbours(raw),
        ssh_address: super::nccl::environment(raw, "SSH_SERVER_ADDRESS").and_then(|address| {
            address
                .parse()
                .map_or_else(|_| Reading::malformed(&address), Reading::Value)
        }),
        firewall: firewall::firewall(raw),
    }
}

fn interface(raw: &RawCapture, name: &str, link: &Value) -> Interface {
    let at = |attribute: &str| format!("{CLASS}/{name}/{attribute}");
    let hex_value = |attribute| {
        raw.text(&at(attribute))
            .and_then(|text| hex(text).map_or_else(|| Reading::malformed(text), Reading::Value))
    };
    let info = link.get("linkinfo").unwrap_or(&Value::Null);
    let info_data = info.get("info_data").unwrap_or(&Value::Null);
    Interface {
        name: name.to_owned(),
        index: raw
            .value(&at("ifindex"))
            .or_else(|| number(link, "ifindex").into()),
        mac: raw.value(&at("address")).or_else(|| {
            string(link, "address")
                .and_then(|mac| mac.parse().ok())
                .into()
        }),
        hardware_type: raw
            .value(&at("type"))
            .or_else(|| hardware_type(link).into()),
        mtu: raw
            .value(&at("mtu"))
            .or_else(|| number(link, "mtu").into())
            .map(Mtu),
        max_mtu: Reading::from(number(link, "max_mtu")).map(Mtu),
        up: up(link).or_else(|| hex_value("flags").map(|flags| flags & 1 == 1)),
        operstate: raw.word(&at("operstate")).or_else(|| {
            string(link, "operstate")
                .map(|state| state.to_lowercase())
                .into()
        }),
        // Reading the carrier of an interface that is down fails: that is no carrier to speak of.
        carrier: raw
            .value::<u8>(&at("carrier"))
            .map(|carrier| carrier == 1)
            .or_else(|| carrier(link)),
        carrier_changes: raw.value(&at("carrier_changes")),
        speed_mbps: raw.value::<i64>(&at("speed")).and_then(|speed| {
            Reading::from(
                u64::try_from(speed)
                    .ok()
                    .filter(|speed| (1..0xffff_ffff).contains(speed)),
            )
        }),
        addresses: ip::addresses(link),
        master: raw
            .link_name(&at("master"))
            .map(str::to_owned)
            .or_else(|| string(link, "master").into()),
        lower: string(link, "link").into(),
        kind: string(info, "info_kind").into(),
        vlan: number(info_data, "id").into(),
        switch_id: raw
            .word(&at("phys_switch_id"))
            .or_else(|| string(link, "phys_switch_id").into()),
        port_name: raw
            .word(&at("phys_port_name"))
            .or_else(|| string(link, "phys_port_name").into()),
        dev_id: hex_value("dev_id"),
        dev_port: raw.value(&at("dev_port")),
        pci: pci_of(raw, &at("device")),
        manager: crosstie_model::facts::net::Manager::Unknown,
        link: ethtool::settings(raw, name),
        qos: qos::port(raw, name),
        statistics: statistics(raw, &at("statistics"), link),
    }
}

/// The kernel tells it of interfaces that are up.
fn carrier(link: &Value) -> Reading<bool> {
    let flags = link.get("flags").and_then(Value::as_array);
    let up = flags.filter(|flags| flags.iter().any(|flag| flag == "UP"));
    up.map(|flags| flags.iter().any(|flag| flag == "LOWER_UP"))
        .into()
}

/// The ARPHRD number of the types that matter here, by `ip`'s name for them.
fn hardware_type(link: &Value) -> Option<u32> {
    match link.get("link_type")?.as_str()? {
        "ether" => Some(1),
        "infiniband" => Some(32),
        "loopback" => Some(772),
        _ => None,
    }
}

/// `rx_bytes`, `tx_dropped`, …: from a directory of them, or from `ip -s`.
fn statistics(raw: &RawCapture, directory: &str, link: &Value) -> NamedCounters {
    let mut statistics = counters(raw, directory);
    for side in ["rx", "tx"] {
        let counts = link
            .get("stats64")
            .and_then(|sides| sides.get(side)?.as_object());
        for (name, count) in counts.into_iter().flatten() {
            if let Some(count) = count.as_u64() {
                statistics.entry(format!("{side}_{name}")).or_insert(count);
            }
        }
    }
    statistics
}

fn up(link: &Value) -> Reading<bool> {
    let flags = link.get("flags").and_then(Value::as_array);
    flags
        .map(|flags| flags.iter().any(|flag| flag == "UP"))
        .into()
}

/// The nearest PCI function at or above a device: a virtio interface hangs one level below its own.
pub(super) fn pci_of(raw: &RawCapture, device: &str) -> Reading<crosstie_model::PciAddress> {
    if !raw.exists(device) {
        return Reading::Absent;
    }
    let path = raw.real_path(device).unwrap_or_default();
    let address = path.rsplit('/').find_map(|part| part.parse().ok());
    address.into()
}

/// Every file of a directory that holds a number.
pub(super) fn counters(raw: &RawCapture, directory: &str) -> NamedCounters {
    raw.names(directory)
        .into_iter()
        .filter_map(|name| {
            let value = raw.value(&format!("{directory}/{name}")).into_known()?;
            Some((name.to_owned(), value))
        })
        .collect()
}
