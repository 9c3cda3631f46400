//! Two good nodes are slow with each other.

use crosstie_grade::FaultKind;

use crate::{CauseScope, Check, CheckFunctions, CheckHit, RunWithFaults, explains};

pub(super) const CHECK: Check = Check {
    id: "pair-slow",
    title: "One pair is slow while both its nodes are fast with others",
    severity: "fault",
    fires: "The bandwidth of one pair is below its ceiling, and both its nodes reach theirs with other nodes.",
    reads: &["a measurement"],
    cause: "the path between the two: a link between switches, a routing choice, or a direct cable of their own",
    meaning: "Neither node is to blame, as both are fast elsewhere. What this pair has and the others have not is its \
        path: one cable of its own, or one link between two switches.",
    fix: "With direct cables: change the cable between the two. With switches: look for errors and load on the \
        links between the leaves that the nodes hang on, and at how flows are spread over them.",
    verify: "The pair reaches 90 % of its ceiling.",
    explained_by: &[
        explains("mtu-mismatch", CauseScope::Cable),
        explains("path-loses-packets", CauseScope::Cable),
    ],
    run: CheckFunctions::stored(run),
};

fn run(measured: &RunWithFaults) -> Vec<CheckHit> {
    measured.hits(FaultKind::PairSlow)
}
