//! One direction is slower than the other.

use crosstie_grade::FaultKind;

use crate::{CauseScope, Check, CheckFunctions, CheckHit, RunWithFaults, explains};

pub(super) const CHECK: Check = Check {
    id: "asymmetric-pair",
    title: "The two directions of a pair differ",
    severity: "warning",
    fires: "The bandwidth from A to B and from B to A differ by more than 10 %.",
    reads: &["a measurement"],
    cause: "something at one end only: a PCIe link, address translation, a hot card, flow control, another job",
    meaning: "Cable and ports are the same in both directions. A difference points at the end that sends in the slow \
        direction, or at the one whose memory is read. On a Spark, reads that an IOMMU translates are slow while \
        writes are not.",
    fix: "Compare the doctor's findings and the PCIe links of the two nodes, and look at pause and discard \
        counters of the slow direction.",
    verify: "Both directions are within 10 % of each other.",
    explained_by: &[explains("path-loses-packets", CauseScope::Cable)],
    run: CheckFunctions::stored(run),
};

fn run(measured: &RunWithFaults) -> Vec<CheckHit> {
    measured.hits(FaultKind::AsymmetricPair)
}
