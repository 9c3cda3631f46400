//! How a cluster file points at a port so that it still does after names have changed.

use crosstie_model::{Facts, facts::rdma::RdmaDevice, spec::PortMatch};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CagePort {
    pub matches: PortMatch,
    pub device: String,
    pub interface: Option<String>,
}

/// A card's GUID where it is the only one of it on the node, else the interface's MAC address, else the name.
pub fn cage_ports(facts: &Facts, devices: &[String]) -> Vec<CagePort> {
    let devices = devices.iter().filter_map(|name| facts.rdma_device(name));
    devices.map(|device| port(facts, device)).collect()
}

fn port(facts: &Facts, device: &RdmaDevice) -> CagePort {
    let interface = device.ports.first().and_then(|port| port.netdev.known());
    let guid = device.node_guid.known().filter(|guid| {
        let same = facts
            .rdma
            .iter()
            .filter(|other| other.node_guid.known() == Some(guid));
        guid.0 != 0 && !device.software && device.ports.len() == 1 && same.count() == 1
    });
    let mac = interface
        .and_then(|name| facts.network.interface(name)?.mac.known())
        .filter(|mac| {
            let all = facts.network.interfaces.iter();
            all.filter(|other| other.mac.known() == Some(mac)).count() == 1
        });
    let matches = match (guid, mac) {
        (Some(guid), _) => PortMatch::Guid { guid: *guid },
        (None, Some(mac)) => PortMatch::Mac { mac: mac.clone() },
        (None, None) => PortMatch::Name(device.name.clone()),
    };
    CagePort {
        matches,
        device: device.name.clone(),
        interface: interface.cloned(),
    }
}
