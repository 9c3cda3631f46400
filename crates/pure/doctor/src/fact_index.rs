//! What checks look up of a node again and again, so that a node with ten thousand interfaces takes ten times as long as one
//! with a thousand.

use std::collections::{HashMap, HashSet};

use crosstie_model::{
    Facts, HardwareAddress, PciAddress,
    facts::{net::Interface, rdma::RdmaDevice},
};

pub(crate) struct FactIndex<'a> {
    devices: HashMap<&'a str, &'a RdmaDevice>,
    /// Functions that RDMA devices are on.
    functions: HashSet<PciAddress>,
    /// The same, less those of Soft-RoCE.
    hardware: HashSet<PciAddress>,
    by_function: HashMap<PciAddress, Vec<&'a Interface>>,
    /// VLANs and their like, by the interface that they lie on.
    above: HashMap<&'a str, Vec<&'a str>>,
    /// Interfaces of the default route, by themselves and by what lies below them.
    gateways: HashMap<&'a str, &'a str>,
    /// Hardware that is part of a bond or bridge, by its name.
    masters: HashSet<&'a str>,
    neighbours: HashMap<&'a str, HashSet<&'a HardwareAddress>>,
}

impl<'a> FactIndex<'a> {
    pub(crate) fn new(facts: &'a Facts) -> Self {
        let interfaces = &facts.network.interfaces;
        let mut devices = HashMap::new();
        for device in &facts.rdma {
            devices.entry(device.name.as_str()).or_insert(device);
        }
        let function = |device: &RdmaDevice| device.pci.known().copied();
        let hardware = facts.rdma.iter().filter(|device| !device.software);
        let mut by_function: HashMap<PciAddress, Vec<&Interface>> = HashMap::new();
        let mut above: HashMap<&str, Vec<&str>> = HashMap::new();
        for interface in interfaces {
            if let Some(function) = interface.pci.known() {
                by_function.entry(*function).or_default().push(interface);
            }
            if let Some(lower) = interface.lower.known() {
                above.entry(lower).or_default().push(&interface.name);
            }
        }
        let plain = interfaces
            .iter()
            .filter(|interface| interface.kind.known().is_none());
        Self {
            devices,
            functions: facts.rdma.iter().filter_map(function).collect(),
            hardware: hardware.filter_map(function).collect(),
            by_function,
            above,
            gateways: gateways(facts),
            masters: plain
                .filter_map(|interface| interface.master.known().map(String::as_str))
                .collect(),
            neighbours: neighbours(facts),
        }
    }

    pub(crate) fn device(&self, name: &str) -> Option<&'a RdmaDevice> {
        self.devices.get(name).copied()
    }

    /// Whether an RDMA device is on a function.
    pub(crate) fn has_rdma(&self, function: PciAddress) -> bool {
        self.functions.contains(&function)
    }

    pub(crate) fn has_rdma_hardware(&self, function: PciAddress) -> bool {
        self.hardware.contains(&function)
    }

    /// Whether an RDMA device is on any function of a slot.
    pub(crate) fn slot_has_rdma(&self, slot: PciAddress) -> bool {
        let mut functions = (0..8).map(|function| PciAddress { function, ..slot });
        functions.any(|function| self.has_rdma(function))
    }

    pub(crate) fn interfaces_of(&self, function: PciAddress) -> &[&'a Interface] {
        self.by_function.get(&function).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn above(&self, name: &str) -> &[&'a str] {
        self.above.get(name).map_or(&[], Vec::as_slice)
    }

    /// The interface of the default route, where it is this one or lies above it.
    pub(crate) fn gateway_through(&self, name: &str) -> Option<&'a str> {
        self.gateways.get(name).copied()
    }

    /// Whether hardware is part of the bond or bridge.
    pub(crate) fn has_hardware(&self, master: &str) -> bool {
        self.masters.contains(master)
    }

    /// The far end of a cable has two twins at most: a third neighbour is behind a switch.
    pub(crate) fn has_many_neighbours(&self, name: &str) -> bool {
        self.neighbours.get(name).is_some_and(|macs| macs.len() > 2)
    }
}

/// From the top down: each interface is passed once, the first default route's first.
fn gateways(facts: &Facts) -> HashMap<&str, &str> {
    let interfaces = &facts.network.interfaces;
    let mut slaves: HashMap<&str, Vec<&str>> = HashMap::new();
    for interface in interfaces {
        if let Some(master) = interface.master.known() {
            slaves.entry(master).or_default().push(&interface.name);
        }
    }
    let lower: HashMap<&str, &str> = interfaces
        .iter()
        .filter_map(|interface| Some((interface.name.as_str(), interface.lower.known()?.as_str())))
        .collect();
    let mut found: HashMap<&str, &str> = HashMap::new();
    let routes = facts.network.routes.known().into_iter().flatten();
    let default = routes.filter(|route| route.destination.is_none() && route.table == "main");
    for gateway in default.filter_map(|route| route.interface.as_deref()) {
        let mut frontier = vec![gateway];
        while let Some(name) = frontier.pop() {
            if found.contains_key(name) {
                continue;
            }
            found.insert(name, gateway);
            frontier.extend(lower.get(name));
            frontier.extend(slaves.get(name).into_iter().flatten());
        }
    }
    found
}

fn neighbours(facts: &Facts) -> HashMap<&str, HashSet<&HardwareAddress>> {
    let mut found: HashMap<&str, HashSet<&HardwareAddress>> = HashMap::new();
    let entries = facts.network.neighbours.known().into_iter().flatten();
    // The kernel's own entries for multicast groups say nothing.
    for entry in entries.filter(|entry| !entry.state.iter().any(|state| state == "NOARP")) {
        if let (Some(name), Some(mac)) = (&entry.interface, &entry.mac) {
            found.entry(name).or_default().insert(mac);
        }
    }
    found
}
