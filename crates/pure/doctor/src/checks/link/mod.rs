//! Link.

mod bonded_rdma;
mod cable_dead;
mod fabric_port_down;
mod fec_differs;
mod ib_no_subnet_manager;
mod ib_two_subnet_managers;
mod link_layer_mixed;
mod no_fabric_link;
mod node_off;
mod port_rate_differs;
mod port_rate_low;
mod twin_down;

use crosstie_model::facts::rdma::{RdmaDevice, RdmaPort};

use super::CheckArea;
use crate::{CagePair, CagePairEnd, CheckHit, ExaminedNode, ExaminedPort, port_file, word};

pub const AREA: CheckArea = CheckArea {
    title: "Link",
    checks: &[
        &node_off::CHECK,
        &cable_dead::CHECK,
        &no_fabric_link::CHECK,
        &fabric_port_down::CHECK,
        &twin_down::CHECK,
        &port_rate_low::CHECK,
        &port_rate_differs::CHECK,
        &fec_differs::CHECK,
        &link_layer_mixed::CHECK,
        &ib_no_subnet_manager::CHECK,
        &ib_two_subnet_managers::CHECK,
        &bonded_rdma::CHECK,
    ],
};

/// The interface's name, or the device's where there is none, with the number of a port that is not the only one.
fn label(device: &RdmaDevice, port: &RdmaPort) -> String {
    match port.netdev.known() {
        Some(name) => name.clone(),
        None if device.ports.len() > 1 => format!("{}/{}", device.name, port.number),
        None => device.name.clone(),
    }
}

/// What is known of a port that is not active.
fn states(hit: CheckHit, device: &RdmaDevice, port: &RdmaPort) -> CheckHit {
    let name = label(device, port);
    let hit = match port.state.known() {
        Some(state) => hit.saw(
            format!("state of {name}"),
            state,
            port_file(device, port, "state"),
        ),
        None => hit,
    };
    match port.physical_state.known() {
        Some(state) => hit.saw(
            format!("physical state of {name}"),
            state,
            port_file(device, port, "phys_state"),
        ),
        None => hit,
    }
}

/// Not active, and known not to be.
fn is_inactive(port: &RdmaPort) -> bool {
    port.state.known().is_some() && !port.is_active()
}

/// How to wake a port: an interface that is administratively down needs a command, one without carrier needs hands.
fn wake(node: &ExaminedNode, hit: CheckHit, port: &RdmaPort) -> CheckHit {
    let Some(netdev) = node.netdev(port) else {
        return hit;
    };
    let up = format!("sudo ip link set dev {} up", word(&netdev.name));
    match netdev.up.known() {
        Some(false) => hit
            .saw(
                format!("interface {}", netdev.name),
                "administratively down",
                "ip -j -d addr show",
            )
            .cause("the interface was never brought up, or was taken down")
            .advice(
                "Bring the interface up, and let the network configuration do so at every start.",
            )
            .command(up),
        Some(true) if netdev.carrier.known() == Some(&false) => hit.saw(
            format!("interface {}", netdev.name),
            "up, no carrier",
            format!("/sys/class/net/{}/carrier", netdev.name),
        ),
        _ => hit,
    }
}

/// The active ports at the two ends of one cable. Nothing where a switch is known to be in between.
fn cable_ends<'a>(pair: &CagePair<'a>) -> Option<(&'a ExaminedPort<'a>, &'a ExaminedPort<'a>)> {
    let first = |end: &CagePairEnd<'a>| {
        let mut ports = end
            .ports()
            .filter(|port| port.port.is_active() && !port.device.software && !port.switched);
        ports.next()
    };
    if !pair.is_cable() {
        return None;
    }
    Some((first(&pair.a)?, first(&pair.b)?))
}
