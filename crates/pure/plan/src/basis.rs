//! What of a node's facts a plan rests on. Counters, loads and link states come and go without making it stale.

use crosstie_fabric::management;
use crosstie_model::{Facts, facts::net::Interface, managed::checksum};
use serde_json::{Value, json};

/// `part=digest` for each part of the node: equal as long as the plan would be.
pub fn basis(facts: &Facts) -> String {
    let parts =
        parts(facts).map(|(part, value)| format!("{part}={}", checksum(&value.to_string())));
    parts.join(" ")
}

/// The parts of a node that are not what a plan rests on.
pub fn changed(now: &str, then: &str) -> Vec<String> {
    let then: Vec<&str> = then.split(' ').collect();
    let other = now.split(' ').filter(|part| !then.contains(part));
    other
        .filter_map(|part| Some(part.split_once('=')?.0.to_owned()))
        .collect()
}

fn parts(facts: &Facts) -> [(&'static str, Value); 10] {
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
    let interfaces = facts.network.interfaces.iter().map(interface);
    let software = &facts.software;
    [
        ("identity", json!([facts.host.name, facts.host.machine_id])),
        ("management", json!(management(facts))),
        ("interfaces", interfaces.collect()),
        ("rdma", devices.collect()),
        ("sysctls", json!(facts.sysctls)),
        ("configuration", json!([facts.persistence, facts.nccl])),
        ("managed", json!(facts.managed)),
        ("packages", json!([software.packages, software.libraries])),
        ("modules", software.modules.keys().cloned().collect()),
        ("services", json!(software.services)),
    ]
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changed_is_named() {
        let now = "identity=00 rdma=01 services=02";
        assert_eq!(changed(now, now), [""; 0]);
        assert_eq!(changed(now, "identity=00 rdma=07"), ["rdma", "services"]);
        assert_eq!(changed(now, "of another version").len(), 3);
    }
}
