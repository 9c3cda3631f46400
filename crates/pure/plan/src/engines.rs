//! A wired node as `crosstie-launch` takes it.

use crosstie_launch::{EngineTrafficClass, SettingsNode, SettingsPort};
use crosstie_model::{is_plain, plan::EngineSetting};

use crate::{
    topology::Topology,
    wiring::{CableTarget, PlannedWiring, WiredNode, WiredPort},
};

/// The settings, and what a person should know about them.
pub fn settings(wiring: &PlannedWiring, node: &WiredNode) -> (Vec<EngineSetting>, Vec<String>) {
    crosstie_launch::settings(&fabric_node(wiring, node))
}

pub fn fabric_node<'a>(wiring: &PlannedWiring, node: &WiredNode<'a>) -> SettingsNode<'a> {
    let ports: Vec<&WiredPort> = node
        .ports
        .iter()
        .filter(|port| port.address.is_some() || port.infiniband)
        // A name that no file can hold is refused elsewhere; it must not get as far as a shell either.
        .filter(|port| is_plain(&port.device))
        .collect();
    let is_switched =
        |port: &&WiredPort| matches!(port.joined, CableTarget::Plane(_)) && !port.infiniband;
    let switched = ports.iter().any(is_switched);
    let qos = wiring.spec.qos.as_ref().filter(|_| switched);
    let ports = ports.into_iter().map(|port| SettingsPort {
        device: port.device.clone(),
        number: port.number,
        infiniband: port.infiniband,
        address: port.address,
    });
    SettingsNode {
        facts: node.facts,
        ports: ports.collect(),
        has_subnet_per_pair: wiring.topology.has_subnet_per_pair(),
        is_long_ring: matches!(wiring.topology, Topology::Ring(count) if count >= 4),
        traffic_class: qos.map(|qos| EngineTrafficClass {
            value: crate::qos::traffic_class(qos),
            dscp: qos.dscp,
            priority: qos.priority,
        }),
    }
}
