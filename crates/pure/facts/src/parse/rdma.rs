//! RDMA devices, their ports and GID tables.

use std::collections::HashMap;

use crosstie_model::{
    Gbps, Gid, PciAddress, Reading,
    facts::rdma::{
        GidKind, GidTableEntry, LinkLayer, PhysicalState, PortState, QueuePairFacts, RdmaDevice,
        RdmaPort, VerbsDeviceFile,
    },
};

use super::{
    hex,
    interface::{counters, pci_of},
    resource,
};
use crate::{RawCapture, raw::ReadGap, source::FileTree};

const CLASS: &str = "sys/class/infiniband";
const VERBS: &str = "sys/class/infiniband_verbs";

/// In the order of their place in the machine, which does not change with their names.
pub(super) fn devices(raw: &RawCapture) -> Vec<RdmaDevice> {
    let names = raw.names(CLASS);
    if names.is_empty() {
        return Vec::new();
    }
    let node = Node::new(raw);
    let mut devices: Vec<RdmaDevice> = names
        .into_iter()
        .map(|name| device(raw, name, &node))
        .collect();
    devices.sort_by_key(|device| (device.pci.known().is_none(), device.pci.known().copied()));
    devices
}

/// What all devices of a node are looked up in.
struct Node<'a> {
    /// Interfaces by the function that they hang below, each with its `dev_port`, sorted.
    interfaces: HashMap<PciAddress, Vec<(u32, &'a str)>>,
    /// Nodes of user space by the device that they stand for.
    verbs: HashMap<&'a str, &'a str>,
    queue_pairs: Reading<HashMap<String, Vec<QueuePairFacts>>>,
}

impl<'a> Node<'a> {
    fn new(raw: &'a RawCapture) -> Self {
        let mut interfaces: HashMap<PciAddress, Vec<(u32, &str)>> = HashMap::new();
        for name in raw.names("sys/class/net") {
            let below = pci_of(raw, &format!("sys/class/net/{name}/device"));
            let port = raw.value(&format!("sys/class/net/{name}/dev_port"));
            if let Some(function) = below.into_known() {
                let port = port.into_known().unwrap_or(0);
                interfaces.entry(function).or_default().push((port, name));
            }
        }
        for below in interfaces.values_mut() {
            below.sort_unstable();
        }
        let mut verbs = HashMap::new();
        for name in raw.names(VERBS) {
            if let Some(device) = raw.text(&format!("{VERBS}/{name}/ibdev")).into_known() {
                verbs.entry(device).or_insert(name);
            }
        }
        Self {
            interfaces,
            verbs,
            queue_pairs: resource::queue_pairs(raw),
        }
    }

    /// The interface of a function's port.
    fn interface(&self, function: PciAddress, port: u32) -> Option<String> {
        let below = self.interfaces.get(&function)?;
        let wanted = port.checked_sub(1);
        let first = below.partition_point(|(dev_port, _)| Some(*dev_port) < wanted);
        let by_port = below
            .get(first)
            .filter(|(dev_port, _)| Some(*dev_port) == wanted);
        // One interface below the function is the port's, whatever it says.
        by_port
            .or(below.first().filter(|_| below.len() == 1))
            .map(|(_, name)| (*name).to_owned())
    }
}

fn device(raw: &RawCapture, name: &str, node: &Node) -> RdmaDevice {
    let at = |attribute: &str| format!("{CLASS}/{name}/{attribute}");
    let pci = pci_of(raw, &at("device"));
    let mut numbers: Vec<u32> = raw
        .names(&at("ports"))
        .into_iter()
        .filter_map(|port| port.parse().ok())
        .collect();
    numbers.sort_unstable();
    RdmaDevice {
        name: name.to_owned(),
        node_guid: raw.value(&at("node_guid")),
        system_guid: raw.value(&at("sys_image_guid")),
        node_type: raw
            .text(&at("node_type"))
            .map(|text| worded(text).to_owned()),
        firmware: raw.word(&at("fw_ver")),
        board: raw.word(&at("board_id")),
        model: raw.word(&at("hca_type")),
        verbs: verbs(raw, name, node),
        ports: numbers
            .into_iter()
            .map(|number| port(raw, name, number, pci.known(), node))
            .collect(),
        queue_pairs: node
            .queue_pairs
            .as_ref()
            .map(|pairs| pairs.get(name).cloned().unwrap_or_default()),
        // Soft-RoCE alone has `parent`; older kernels hang it below the card of the interface it runs on.
        software: raw.exists(&at("parent")) || pci.known().is_none(),
        pci,
    }
}

/// `4: ACTIVE` → `ACTIVE`.
fn worded(text: &str) -> &str {
    text.split_once(": ").map_or(text, |(_, word)| word)
}

fn port(
    raw: &RawCapture,
    device: &str,
    number: u32,
    pci: Option<&PciAddress>,
    node: &Node,
) -> RdmaPort {
    let at = |attribute: &str| format!("{CLASS}/{device}/ports/{number}/{attribute}");
    let word = |attribute| {
        raw.word(&at(attribute))
            .map(|text| worded(&text).to_owned())
    };
    let lid = |attribute| {
        raw.text(&at(attribute))
            .and_then(|text| hex(text).map_or_else(|| Reading::malformed(text), Reading::Value))
    };
    let rate_text = raw.word(&at("rate"));
    let gids = gids(raw, &at);
    let roce = format!("sys/kernel/config/rdma_cm/{device}/ports/{number}/default_roce_mode");
    RdmaPort {
        number,
        state: word("state").map(PortState::from),
        physical_state: word("phys_state").map(PhysicalState::from),
        link_layer: word("link_layer").map(LinkLayer::from),
        rate: rate_text.as_ref().and_then(|text| rate(text)),
        rate_text,
        lid: lid("lid"),
        sm_lid: lid("sm_lid"),
        netdev: netdev(raw, device, number, &gids, pci, node),
        gids,
        counters: counters(raw, &at("counters")),
        hw_counters: counters(raw, &at("hw_counters")),
        traffic_class: raw
            .text(&format!("{CLASS}/{device}/tc/{number}/traffic_class"))
            .and_then(traffic_class),
        cm_roce_mode: raw.word(&roce),
    }
}

/// `200 Gb/sec (2X NDR)`, `2.5 Gb/sec (1X SDR)`.
fn rate(text: &str) -> Reading<Gbps> {
    let number = text
        .split_whitespace()
        .next()
        .and_then(|word| word.parse::<f64>().ok());
    match number {
        Some(rate) if rate.is_finite() && rate > 0.0 && text.contains("Gb/sec") => {
            Reading::Value(Gbps(rate))
        }
        _ => Reading::malformed(text),
    }
}

/// OFED prints `Global tclass=106` first, if one is set.
pub fn traffic_class(text: &str) -> Reading<u8> {
    let first = text.lines().next().unwrap_or("");
    let number = first
        .rsplit_once('=')
        .map_or(first, |(_, number)| number)
        .trim();
    number
        .parse()
        .map_or_else(|_| Reading::malformed(text), Reading::Value)
}

fn gids(raw: &RawCapture, at: &impl Fn(&str) -> String) -> Vec<GidTableEntry> {
    let mut gids: Vec<GidTableEntry> = raw
        .names(&at("gids"))
        .into_iter()
        .filter_map(|name| {
            let index: u32 = name.parse().ok()?;
            let gid: Gid = raw.value(&at(&format!("gids/{name}"))).into_known()?;
            (!gid.is_empty()).then(|| GidTableEntry {
                index,
                gid,
                kind: raw
                    .word(&at(&format!("gid_attrs/types/{name}")))
                    .map(GidKind::from),
                netdev: raw.word(&at(&format!("gid_attrs/ndevs/{name}"))),
            })
        })
        .collect();
    gids.sort_by_key(|entry| entry.index);
    gids
}

/// The interface of a port, in the order of how sure the source is:
/// GID 0 is the port's own (a VLAN's comes later in the table), Soft-RoCE names its parent, and a card's functions
/// carry their interfaces below the same PCI device, told apart by `dev_port`.
fn netdev(
    raw: &RawCapture,
    device: &str,
    number: u32,
    gids: &[GidTableEntry],
    pci: Option<&PciAddress>,
    node: &Node,
) -> Reading<String> {
    let attribute = |path: String| raw.word(&path);
    attribute(format!("{CLASS}/{device}/ports/{number}/gid_attrs/ndevs/0"))
        .or_else(|| {
            gids.first()
                .map_or(Reading::Absent, |entry| entry.netdev.clone())
        })
        .or_else(|| attribute(format!("{CLASS}/{device}/parent")))
        .or_else(|| pci.map_or(Reading::Absent, |pci| node.interface(*pci, number).into()))
}

fn verbs(raw: &RawCapture, device: &str, node: &Node) -> Reading<VerbsDeviceFile> {
    Reading::from(node.verbs.get(device).copied()).map(|name| {
        let access = raw.access(&format!("dev/infiniband/{name}"));
        VerbsDeviceFile {
            name: name.to_owned(),
            present: !matches!(access, Err(ReadGap::Absent)),
            accessible: match access {
                Ok(()) => Reading::Value(true),
                Err(ReadGap::Denied) => Reading::Value(false),
                Err(_) => Reading::Absent,
            },
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_gigabits() {
        assert_eq!(rate("200 Gb/sec (2X NDR)"), Reading::Value(Gbps(200.0)));
        assert_eq!(rate("2.5 Gb/sec (1X SDR)"), Reading::Value(Gbps(2.5)));
        assert!(matches!(rate("inf Gb/sec"), Reading::Malformed(_)));
    }

    #[test]
    fn traffic_classes_of_either_wording() {
        assert_eq!(traffic_class("106"), Reading::Value(106));
        assert_eq!(traffic_class("Global tclass=106\n"), Reading::Value(106));
        assert!(matches!(traffic_class("300"), Reading::Malformed(_)));
    }
}
