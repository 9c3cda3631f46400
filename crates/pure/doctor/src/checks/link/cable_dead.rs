//! A cable carries no signal.

use crosstie_model::{Cable, PortRef, facts::rdma::PhysicalState};

use super::{is_inactive, label};
use crate::{
    CauseScope, Check, CheckFunctions, CheckHit, ExaminedCluster, ExaminedNode, FindingSite,
    explains, port_file,
};

pub(super) const CHECK: Check = Check {
    id: "cable-dead",
    title: "A cable of the cluster file carries no signal",
    severity: "fault",
    fires: "Every port of a cage that the cluster file cables is known to be dark: not active, without carrier, and its \
        interface not switched off. Both ends where both were read. Where the other end is a switch, was not read, or has its \
        light on, the finding names the end that is dark. Silent where an end is switched off: that is fabric-port-down.",
    reads: &[
        "cluster.toml",
        "/sys/class/net/IF/carrier",
        "/sys/class/infiniband/DEVICE/ports/PORT/{state,phys_state}",
    ],
    cause: "the cable is out, not seated, or broken; or it is in another cage than the cluster file says",
    meaning: "The two ends of a cable go dark together when the cable is pulled, sits loosely, or dies. Everything else that is \
        found on these ports (ports that are down, addresses that are gone, devices that NCCL would miss) follows from it, \
        and is shown as its consequence.\n\n\
        If one end is dark while the other has its light on, the dark end hears nothing: its receiver, its transceiver, or \
        one direction of the cable.",
    fix: "Push the cable in until it clicks, at both ends; then try another cable. If the cabling changed on purpose, \
        run `crosstie init` again, or correct the cluster file.",
    verify: "`rdma link` shows the ports at both ends in state `ACTIVE`.",
    explained_by: &[
        explains("node-off", CauseScope::Peer),
        explains("link-layer-mixed", CauseScope::Cable),
    ],
    run: CheckFunctions::cluster(run),
};

/// What one end of a cable sees of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CableEndSignal {
    On,
    Dark,
    /// Somebody took the interfaces down.
    SwitchedOff,
    /// Not read, or not to be told.
    Unknown,
}

/// One end of a cable, where its node was read.
type Seen<'a> = (&'a PortRef, &'a ExaminedNode<'a>, usize);

fn run(cluster: &ExaminedCluster) -> Vec<CheckHit> {
    let cables = cluster.spec.map_or(&[][..], |spec| &spec.cables);
    cables
        .iter()
        .filter_map(|cable| hit(cluster, cable))
        .collect()
}

fn hit(cluster: &ExaminedCluster, cable: &Cable) -> Option<CheckHit> {
    let mut dark: Vec<Seen> = Vec::new();
    let mut lit: Vec<Seen> = Vec::new();
    for end in cable.ends() {
        let Some((node, cage)) = cluster.find(end) else {
            continue;
        };
        match light(node, cage) {
            CableEndSignal::On => lit.push((end, node, cage)),
            CableEndSignal::Dark => dark.push((end, node, cage)),
            CableEndSignal::SwitchedOff => return None,
            CableEndSignal::Unknown => {}
        }
    }
    let (first, ..) = *dark.first()?;
    let subject = match cable {
        Cable::Direct { a, b, number: _ } => format!("{a} – {b}"),
        Cable::Switched { port, plane } => format!("{port} – {plane}"),
    };
    let mut hit = CheckHit::fault(subject);
    for (end, node, cage) in dark.iter().chain(&lit) {
        hit = evidence(hit, end, node, *cage);
    }
    for end in cable.ends() {
        hit = hit.at(FindingSite::cage(&end.node, &end.cage));
    }
    if let Some((other, ..)) = lit.first() {
        return Some(
            hit.cause(format!(
                "{first} hears nothing, though {other} has its light on: the receiver or transceiver of {first}, or one \
                 direction of the cable"
            ))
            .advice(format!(
                "Look at {first}: push the cable in until it clicks there, clean or change the transceiver, then try another \
                 cable."
            )),
        );
    }
    if dark.len() == 2 {
        return Some(hit);
    }
    let far = match cable {
        Cable::Direct { a, b, number: _ } => {
            let other = if first == a { b } else { a };
            format!("{other}, which was not read")
        }
        Cable::Switched { plane, .. } => format!("the port of the switch ({plane})"),
    };
    Some(
        hit.cause(format!(
            "the cable is out, not seated, or broken at {first}, or its other end is off: {far}"
        ))
        .advice(format!(
            "Push the cable in until it clicks, at {first} first; see that the other end is on and enabled; then try another \
             cable."
        )),
    )
}

/// Twins hear alike: a port with a signal shows that the cable has one.
pub(super) fn light(node: &ExaminedNode, cage: usize) -> CableEndSignal {
    let (mut dark, mut off) = (false, false);
    for (_, port) in node.members(cage) {
        let netdev = node.netdev(port);
        let carrier = netdev.and_then(|netdev| netdev.carrier.known());
        let lit = port.is_active()
            || port.physical_state.known() == Some(&PhysicalState::LinkUp)
            || carrier == Some(&true);
        if lit {
            return CableEndSignal::On;
        }
        if !is_inactive(port) {
            return CableEndSignal::Unknown;
        }
        if netdev.and_then(|netdev| netdev.up.known()) == Some(&false) {
            off = true;
        } else {
            dark = true;
        }
    }
    match (dark, off) {
        (true, _) => CableEndSignal::Dark,
        (false, true) => CableEndSignal::SwitchedOff,
        (false, false) => CableEndSignal::Unknown,
    }
}

fn evidence(hit: CheckHit, end: &PortRef, node: &ExaminedNode, cage: usize) -> CheckHit {
    node.members(cage).fold(hit, |hit, (device, port)| {
        let what = format!("{} on {}", label(device, port), end.node);
        let netdev = node.netdev(port);
        if let Some((netdev, carrier)) =
            netdev.and_then(|netdev| Some((netdev, netdev.carrier.known()?)))
        {
            let shown = if *carrier { "carrier" } else { "no carrier" };
            let source = format!("/sys/class/net/{}/carrier", netdev.name);
            return hit.saw(what, shown, source);
        }
        let state = port.state.known();
        let state = state.map_or_else(|| "?".to_owned(), ToString::to_string);
        hit.saw(what, state, port_file(device, port, "state"))
    })
}
