//! A port that the cluster file counts on is not active.

use crosstie_model::{Cable, facts::rdma::LinkLayer, facts::rdma::PhysicalState};

use super::{is_inactive, states, wake};
use crate::{
    CauseScope, Check, CheckFunctions, CheckHit, ExaminedNode, ExaminedPort, FindingSite, explains,
};

pub(super) const CHECK: Check = Check {
    id: "fabric-port-down",
    title: "A port that the cluster file names is not active",
    severity: "fault",
    fires: "A port of a cage that the cluster file names is known not to be active, or the node has RDMA devices and none \
        of them is in that cage.",
    reads: &[
        "cluster.toml",
        "/sys/class/infiniband/DEVICE/ports/PORT/state",
        "/sys/class/infiniband/DEVICE/ports/PORT/phys_state",
    ],
    cause: "no cable, a cable that is not seated or sits in another cage, an interface that is down, or a far end that is off",
    meaning: "The cluster was planned with this port. Its rail is missing: collectives run on fewer rails, or not at all \
        where this is the only way to a neighbour.",
    fix: "Push the cable in at both ends, check that it is in the cage that the cluster file names, and try another cable. \
        If the cabling changed on purpose, correct the cluster file.",
    verify: "`rdma link` shows the port in state `ACTIVE`.",
    explained_by: &[
        explains("twin-down", CauseScope::Port),
        explains("node-off", CauseScope::Peer),
        explains("cable-dead", CauseScope::Cable),
        explains("fabric-port-down", CauseScope::FarEnd),
        explains("link-layer-mixed", CauseScope::Cable),
    ],
    run: CheckFunctions::node(run),
};

fn run(node: &ExaminedNode) -> Vec<CheckHit> {
    let named = node.fabric.iter().filter(|port| port.named);
    let down = named.filter(|port| is_inactive(port.port));
    let down = down.filter(|port| !awaits_subnet_manager(port));
    down.map(|port| {
        let hit = states(CheckHit::fault(port.label()), port.device, port.port);
        let hit = wake(node, hit, port.port);
        match port.netdev.and_then(|netdev| netdev.up.known()) {
            // The other end goes dark with it.
            Some(false) => hit.felt_elsewhere(),
            _ => hit,
        }
    })
    .chain(missing(node))
    .collect()
}

/// Its link is up; what is missing has a check of its own.
fn awaits_subnet_manager(port: &ExaminedPort) -> bool {
    port.port.link_layer.known() == Some(&LinkLayer::InfiniBand)
        && port.port.physical_state.known() == Some(&PhysicalState::LinkUp)
}

/// Cages that only the cluster file has. A node without any RDMA device has another fault.
fn missing(node: &ExaminedNode) -> Vec<CheckHit> {
    let cables = node.spec.map_or(&[][..], |spec| &spec.cables);
    let ends = cables.iter().flat_map(Cable::ends);
    let mut wanted: Vec<&str> = ends
        .filter(|end| end.node == node.name && !node.facts.rdma.is_empty())
        .map(|end| end.cage.as_str())
        .filter(|wanted| node.cages.iter().all(|cage| cage.id != *wanted))
        .collect();
    wanted.sort_unstable();
    wanted.dedup();
    let cages: Vec<&str> = node.cages.iter().map(|cage| cage.id.as_str()).collect();
    let hit = |wanted: &str| {
        CheckHit::fault(wanted)
            .at(FindingSite::cage(node.name, wanted))
            .saw("cages of the node", cages.join(", "), "/sys/class/infiniband")
            .saw("cage in the cluster file", wanted, "cluster.toml")
            .cause("the card is gone, or the cluster file means another port")
            .advice("Compare the cluster file with what `crosstie scan` shows of this node, and correct the wrong one.")
    };
    wanted.into_iter().map(hit).collect()
}
