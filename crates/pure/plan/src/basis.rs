//! What of a node's facts a plan rests on. Counters, loads and link states come and go without making it stale.

use crosstie_fabric::management;
use crosstie_model::{Facts, facts::net::Interface};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// SHA-256, in hex: equal as long as the plan would be.
pub fn basis(facts: &Facts) -> String {
    let text = projection(facts).to_string();
    format!("{:x}", Sha256::digest(text))
}

fn projection(facts: &Facts) -> Value {
    let devices = facts.rdma.iter().map(|device| {
        let ports = device.ports.iter().map(|port| {
            json!([
                port.number,
                port.netdev,
                port.link_layer,
                port.traffic_class,
                port.cm_roce_mode
            ])
        });
        json!([
            device.name,
            device.node_guid,
            device.pci,
            ports.collect::<Vec<_>>()
        ])
    });
    let software = &facts.software;
    json!({
        "host": facts.host.name,
        "machine": facts.host.machine_id,
        "management": management(facts),
        "interfaces": facts.network.interfaces.iter().map(interface).collect::<Vec<_>>(),
        "rdma": devices.collect::<Vec<_>>(),
        "sysctls": facts.sysctls,
        "persistence": facts.persistence,
        "managed": facts.managed,
        "packages": software.packages,
        "modules": software.modules.keys().collect::<Vec<_>>(),
        "services": software.services,
        "libraries": software.libraries,
        "nccl": facts.nccl,
    })
}

fn interface(interface: &Interface) -> Value {
    let addresses = interface.addresses.iter();
    // A lease may be renewed; that a port has a lease is what counts.
    let addresses = addresses.filter(|address| address.scope == "global");
    json!([
        interface.name,
        interface.mac,
        interface.mtu,
        interface.max_mtu,
        interface.up,
        interface.master,
        interface.lower,
        interface.manager,
        interface.qos,
        interface.switch_id,
        interface.port_name,
        addresses.map(|address| address.net).collect::<Vec<_>>(),
    ])
}
