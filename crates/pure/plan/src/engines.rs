//! A wired node as `crosstie-launch` takes it.

use crosstie_launch::{FabricNode, FabricPort, TrafficClass};
use crosstie_model::{is_plain, plan::Setting};

use crate::{
    topology::Topology,
    wiring::{Joined, Port, WiredNode, Wiring},
};

/// The settings, and what a person should know about them.
pub fn settings(wiring: &Wiring, node: &WiredNode) -> (Vec<Setting>, Vec<String>) {
    crosstie_launch::settings(&fabric_node(wiring, node))
}

pub fn fabric_node<'a>(wiring: &Wiring, node: &WiredNode<'a>) -> FabricNode<'a> {
    let ports: Vec<&Port> = node
        .ports
        .iter()
        .filter(|port| port.address.is_some() || port.infiniband)
        // A name that no file can hold is refused elsewhere; it must not get as far as a shell either.
        .filter(|port| is_plain(&port.device))
        .collect();
    let is_switched = |port: &&Port| matches!(port.joined, Joined::Plane(_)) && !port.infiniband;
    let switched = ports.iter().any(is_switched);
    let qos = wiring.spec.qos.as_ref().filter(|_| switched);
    let ports = ports.into_iter().map(|port| FabricPort {
        device: port.device.clone(),
        number: port.number,
        infiniband: port.infiniband,
        address: port.address,
    });
    FabricNode {
        facts: node.facts,
        ports: ports.collect(),
        has_subnet_per_pair: wiring.topology.has_subnet_per_pair(),
        is_long_ring: matches!(wiring.topology, Topology::Ring(count) if count >= 4),
        traffic_class: qos.map(|qos| TrafficClass {
            value: crate::qos::traffic_class(qos),
            dscp: qos.dscp,
            priority: qos.priority,
        }),
    }
}
