//! Every pair of one node is slow.

use crosstie_grade::FaultKind;

use crate::{CauseScope, Check, CheckFunctions, CheckHit, RunWithFaults, explains};

pub(super) const CHECK: Check = Check {
    id: "node-slow",
    title: "All pairs of one node are slow",
    severity: "fault",
    fires: "Every measured pair that has this node (on this rail) is below its ceiling, while other nodes reach \
        theirs among themselves. With only two nodes it can be either end.",
    reads: &[
        "a measurement",
        "/sys/class/infiniband/DEVICE/ports/PORT/{counters,hw_counters}",
    ],
    cause: "the node itself, its cable or its switch port; its counters and its other rail tell which",
    meaning: "What all the slow pairs have in common is this node. If its other rail is fast, it is the cable, the \
        cage or the switch port of this rail. If both rails are slow, it is the machine: PCIe, power, \
        temperature, IOMMU. Errors that grow on its port speak for the cable.",
    fix: "Run `crosstie doctor` on the node. Swap its cable with that of a good node: if the fault moves along, it \
        is the cable; if not, swap the switch port. Restart the node with the cable in.",
    verify: "The node's pairs reach 95 % of their ceiling.",
    explained_by: &[
        explains("node-off", CauseScope::Node),
        explains("nic-hotplugged", CauseScope::Node),
        explains("nic-hot", CauseScope::Node),
    ],
    run: CheckFunctions::stored(run),
};

fn run(measured: &RunWithFaults) -> Vec<CheckHit> {
    measured.hits(FaultKind::NodeSlow)
}
