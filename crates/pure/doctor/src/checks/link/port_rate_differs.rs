//! The two ends of a cable disagree on its rate.

use super::cable_ends;
use crate::{
    CagePair, CauseScope, Check, CheckFunctions, CheckHit, ExaminedPort, JoinEvidence, explains,
};

pub(super) const CHECK: Check = Check {
    id: "port-rate-differs",
    title: "The two ends of a cable report different rates",
    severity: "warning",
    fires: "Two cages that are taken as the ends of one cable have active ports of different rates, and no switch is known \
        to be in between.",
    reads: &["/sys/class/infiniband/DEVICE/ports/PORT/rate"],
    cause: "a switch in between whose ports run at different speeds, or one end that came up at a lower speed",
    meaning: "Two ports on one cable always run at one rate. If these two differ there is a switch in between, and the \
        slower of the two links limits the pair.",
    fix: "Find out why the slower end came up slower: cable, transceiver, forward error correction, or the speed set on \
        the switch port. If a switch is there on purpose, say so in the cluster file.",
    verify: "`rate` shows the same figure at both ends.",
    explained_by: &[
        explains("port-rate-low", CauseScope::Cable),
        explains("fec-differs", CauseScope::Cable),
    ],
    run: CheckFunctions::pair(run),
};

fn are_of_one_kind(a: &ExaminedPort, b: &ExaminedPort) -> bool {
    let kind = |port: &ExaminedPort| {
        let function = port.function?;
        Some((*function.vendor.known()?, *function.device.known()?))
    };
    kind(a).is_some_and(|first| kind(b) == Some(first))
}

fn run(pair: &CagePair) -> Vec<CheckHit> {
    let Some((a, b)) = cable_ends(pair) else {
        return Vec::new();
    };
    let (Some(first), Some(second)) = (a.port.rate.known(), b.port.rate.known()) else {
        return Vec::new();
    };
    // The two ends of one cable run at one rate. So where the cable is only inferred, cards of different kinds at different
    // rates are rather no cable at all.
    if first == second || (pair.by != JoinEvidence::Spec && !are_of_one_kind(a, b)) {
        return Vec::new();
    }
    let what = |node: &str, label: &str| format!("rate of {label} on {node}");
    vec![
        CheckHit::warning(pair.label())
            .saw(what(pair.a.node.name, a.label()), first, a.file("rate"))
            .saw(what(pair.b.node.name, b.label()), second, b.file("rate")),
    ]
}
