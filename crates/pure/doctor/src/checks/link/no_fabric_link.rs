//! No RDMA port of the node has a link.

use crosstie_model::{
    Severity,
    facts::rdma::{PhysicalState, RdmaPort},
};

use super::{is_inactive, states, wake};
use crate::{CauseScope, Check, CheckFunctions, CheckHit, ExaminedNode, explains};

pub(super) const CHECK: Check = Check {
    id: "no-fabric-link",
    title: "No RDMA port has a link",
    severity: "warning (fault with a cluster file)",
    fires: "There are RDMA devices, and every port of every one is known to be neither active nor physically up.",
    reads: &[
        "/sys/class/infiniband/DEVICE/ports/PORT/state",
        "/sys/class/infiniband/DEVICE/ports/PORT/phys_state",
    ],
    cause: "no cable, a cable that is not seated, the wrong cage, or a far end that is off",
    meaning: "The card and its driver are fine, and there is no light or signal on any cage. NCCL ignores such ports and \
        goes over TCP on the management network.",
    fix: "Push the cable in at both ends until it clicks. Try the other cage, then another cable. See that the far end is \
        on and its port enabled. A DGX Spark wants a restart with the cable in.",
    verify: "`rdma link` shows a port in state `ACTIVE`.",
    explained_by: &[
        explains("cable-dead", CauseScope::Node),
        explains("fabric-port-down", CauseScope::Node),
        explains("ib-no-subnet-manager", CauseScope::Node),
    ],
    run: CheckFunctions::node(run),
};

fn run(node: &ExaminedNode) -> Vec<CheckHit> {
    let devices = node.facts.rdma.iter();
    let ports: Vec<_> = devices
        .flat_map(|device| device.ports.iter().map(move |port| (device, port)))
        .collect();
    if ports.is_empty() || !ports.iter().all(|(_, port)| is_dark(port)) {
        return Vec::new();
    }
    let severity = if node.expected {
        Severity::Fault
    } else {
        Severity::Warning
    };
    let hit = ports.iter().fold(
        CheckHit::new(severity, "every port"),
        |hit, (device, port)| states(hit, device, port),
    );
    // Where all interfaces are down, bringing them up comes before looking at cables.
    let down: Vec<_> = ports
        .iter()
        .filter(|(_, port)| {
            let netdev = node.netdev(port);
            netdev.and_then(|netdev| netdev.up.known()) == Some(&false)
        })
        .collect();
    if down.len() < ports.len() {
        return vec![hit];
    }
    vec![
        down.iter()
            .fold(hit, |hit, (_, port)| wake(node, hit, port)),
    ]
}

fn is_dark(port: &RdmaPort) -> bool {
    is_inactive(port) && port.physical_state.known() != Some(&PhysicalState::LinkUp)
}
