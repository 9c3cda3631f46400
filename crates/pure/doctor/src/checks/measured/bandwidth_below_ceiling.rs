//! A pair carries less than its links allow.

use crosstie_grade::FaultKind;

use crate::{CauseScope, Check, CheckFunctions, CheckHit, RunWithFaults, explains};

pub(super) const CHECK: Check = Check {
    id: "bandwidth-below-ceiling",
    title: "RDMA between two nodes is slower than their links allow",
    severity: "fault below 80 % of the ceiling, warning from 80 to 94 %",
    fires: "The RDMA bandwidth of a pair on hardware, with messages of 64 KiB and more and the best number of queue \
        pairs, is below 95 % of the pair's ceiling, in whole percents.",
    reads: &["a measurement"],
    cause: "the limit whose figure the measurement matches best; the finding names it",
    meaning: "The ceiling is the smallest of what the wire carries after its headers and what the PCIe links of the \
        active functions carry together, at both ends. Nothing can be faster, and a healthy pair comes within \
        some percent of it.\n\n\
        A figure well below it has a signature: about 13 Gb/s is a Spark's card that was started by hot-plug; \
        half of the ceiling is one twin of two; the figure of the PCIe link is the PCIe link; a path MTU of 1024 \
        costs some 6 % of the wire.",
    fix: "Mend what the finding names: its own check says how. Run `crosstie doctor` on both nodes first, since \
        most causes show there.",
    verify: "A measurement (`prove`) shows 95 % of the ceiling or more for the pair.",
    explained_by: &[
        explains("nic-hotplugged", CauseScope::Node),
        explains("mtu-mismatch", CauseScope::Cable),
        explains("twin-down", CauseScope::Cage),
        explains("path-loses-packets", CauseScope::Cable),
    ],
    run: CheckFunctions::stored(run),
};

fn run(measured: &RunWithFaults) -> Vec<CheckHit> {
    measured.hits(FaultKind::BandwidthBelowCeiling)
}
