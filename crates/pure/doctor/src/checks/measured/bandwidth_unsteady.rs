//! Bandwidth that comes and goes.

use crosstie_grade::FaultKind;

use crate::{CauseScope, Check, CheckFunctions, CheckHit, RunWithFaults, explains};

pub(super) const CHECK: Check = Check {
    id: "bandwidth-unsteady",
    title: "The bandwidth of a pair breaks down for moments",
    severity: "warning, fault where traffic broke off",
    fires: "The worst tenth of a second of a measurement is below half of the median, or a test of a soak broke off.",
    reads: &["a measurement"],
    cause: "a link that comes and goes, loss with timeouts, pause from the far end, or another job on a node",
    meaning: "An average hides it: a link that stands still for one second of ten looks ten percent slow. A job that waits \
        for its slowest step feels every one of these moments. The finding says when the first one was, so that it \
        can be found in logs.",
    fix: "Look into the kernel logs of both nodes and the switch's log at that moment: link flaps, thermal events, other \
        jobs. `crosstie prove --soak 8h` finds how often it happens.",
    verify: "A measurement (`prove --soak 10m`) has no window below half of the median.",
    explained_by: &[
        explains("path-loses-packets", CauseScope::Cable),
        explains("link-errors-growing", CauseScope::Cable),
        explains("nic-hot", CauseScope::Node),
        // A node that is short of time is slow, and in pieces: one fault, and the figure says how much.
        explains("bandwidth-below-ceiling", CauseScope::Cable),
    ],
    run: CheckFunctions::stored(run),
};

fn run(measured: &RunWithFaults) -> Vec<CheckHit> {
    measured.hits(FaultKind::BandwidthUnsteady)
}
