//! What would be read of a node once its plan is done: so one sees which faults a plan mends.

use std::{collections::BTreeSet, net::IpAddr};

use crosstie_model::{
    Facts, Gid, NodePlan, PlanStep, Reading,
    facts::{
        net::Interface,
        rdma::{GidKind, GidTableEntry, LinkLayer, PhysicalState, PortState, RdmaPort},
    },
    plan::global_addresses,
};

use crate::simulated_node::SimulatedNode;

/// The facts after the plan, as far as they follow from it.
pub fn predict_facts(plan: &NodePlan, before: &Facts) -> Facts {
    let mut memory = SimulatedNode::of(before);
    for step in &plan.steps {
        // Where the plan is not for these facts, nothing more is known of them.
        if memory.apply(step).is_err() {
            break;
        }
    }
    let mut after = memory.facts();
    let starts_service =
        |step: &PlanStep| matches!(step, PlanStep::TimeService(service) if service.on.to);
    if plan.steps.iter().any(starts_service) {
        // Whether it reaches a server shows only on the real one.
        after.system.clock_synchronised = Reading::Absent;
    }
    let configured = configured(plan);
    for interface in &mut after.network.interfaces {
        if configured.contains(interface.name.as_str()) {
            predict_link_up(interface);
        }
    }
    let Facts { rdma, network, .. } = &mut after;
    for port in rdma.iter_mut().flat_map(|device| &mut device.ports) {
        let Some(name) = port.netdev.known().cloned() else {
            continue;
        };
        let was = before.network.interface(&name);
        let Some((was, is)) = was.zip(network.interface(&name)) else {
            continue;
        };
        if was.up.known() == Some(&false) && is.up.known() == Some(&true) {
            port.state = Reading::Value(PortState::Active);
            port.physical_state = Reading::Value(PhysicalState::LinkUp);
        }
        predict_gids(port, was, is);
    }
    after
}

/// The interfaces that get an address.
fn configured(plan: &NodePlan) -> BTreeSet<&str> {
    let changes = plan.steps.iter().flat_map(PlanStep::interface_changes);
    changes
        .filter(|change| !change.addresses.to.is_empty())
        .map(|change| change.name.as_str())
        .collect()
}

/// A manager that has a port to configure takes it up. Whether there is a carrier then shows only on the real one.
fn predict_link_up(interface: &mut Interface) {
    if interface.up.known() == Some(&false) {
        interface.up = Reading::Value(true);
        interface.carrier = Reading::Value(true);
    }
}

/// The kernel has each address of a port's interface in the port's table, and no other.
fn predict_gids(port: &mut RdmaPort, was: &Interface, is: &Interface) {
    if port.link_layer.known() != Some(&LinkLayer::Ethernet) || port.gids.is_empty() {
        return;
    }
    let (old, new) = (addresses(was), addresses(is));
    port.gids.retain(|entry| {
        let address = entry.gid.address();
        new.contains(&address) || !old.contains(&address)
    });
    for address in new.difference(&old) {
        let last = port.gids.iter().map(|entry| entry.index).max();
        port.gids.push(GidTableEntry {
            index: last.map_or(0, |last| last + 1),
            gid: gid(*address),
            kind: Reading::Value(GidKind::RoceV2),
            netdev: Reading::Value(is.name.clone()),
        });
    }
}

fn addresses(interface: &Interface) -> BTreeSet<IpAddr> {
    let networks = global_addresses(interface).into_iter();
    networks.map(|network| network.addr()).collect()
}

fn gid(address: IpAddr) -> Gid {
    Gid(match address {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    })
}
