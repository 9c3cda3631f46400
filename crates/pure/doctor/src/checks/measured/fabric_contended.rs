//! Pairs are fast alone and slow together.

use crosstie_grade::FaultKind;

use crate::{Check, CheckFunctions, CheckHit, RunWithFaults};

pub(super) const CHECK: Check = Check {
    id: "fabric-contended",
    title: "Pairs are fast alone and slow when all run together",
    severity: "warning",
    fires: "Pairs that reach their ceiling one at a time fall short of it when a round of pairs, no node in two of \
        them, runs at once.",
    reads: &["a measurement"],
    cause: "less bandwidth between switches than below them, flows that meet on one link, or missing flow control",
    meaning: "Each node takes part in one pair at a time, so no node is asked for more than it can give. What is \
        shared is the inside of the fabric: uplinks with less capacity than the ports below them, several flows \
        hashed to one uplink, or drops for want of flow control.",
    fix: "Compare the capacity of the uplinks with that of the ports, spread flows \
        better (adaptive routing, more queue pairs), and see that flow control and ECN are on all the way.",
    verify: "A full round of pairs reaches 95 % of the ceilings.",
    explained_by: &[],
    run: CheckFunctions::stored(run),
};

fn run(measured: &RunWithFaults) -> Vec<CheckHit> {
    measured.hits(FaultKind::FabricContended)
}
