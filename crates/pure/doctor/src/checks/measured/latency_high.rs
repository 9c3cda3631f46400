//! A small message takes too long.

use crosstie_grade::FaultKind;

use crate::{CauseScope, Check, CheckFunctions, CheckHit, RunWithFaults, explains};

pub(super) const CHECK: Check = Check {
    id: "latency-high",
    title: "A small RDMA message takes too long",
    severity: "fault above 5 µs over one switch, warning above 2 µs",
    fires: "The median time of a small RDMA write or send, in one direction between hardware devices, is above 2 µs \
        with at most one switch in between. Software devices are not judged.",
    reads: &["a measurement"],
    cause: "power saving of processor or PCIe links, a busy processor, or more switches in the path than thought",
    meaning: "A healthy pair takes 1.4 to 1.7 µs on a cable, some tenths more over a switch. Latency decides how long \
        small collectives take, such as those of each token that a model serves.",
    fix: "Set the processor's governor to `performance`, switch deep sleep states and PCIe power management off, \
        stop what else runs on the nodes, and look for a longer path than planned.",
    verify: "The median of a measurement (`prove`) is below 2 µs.",
    explained_by: &[explains("aspm-enabled", CauseScope::Node)],
    run: CheckFunctions::stored(run),
};

fn run(measured: &RunWithFaults) -> Vec<CheckHit> {
    measured.hits(FaultKind::LatencyHigh)
}
