//! A rail that nobody used.

use crosstie_grade::FaultKind;

use crate::{CauseScope, Check, CheckFunctions, CheckHit, RunWithFaults, explains};

pub(super) const CHECK: Check = Check {
    id: "rail-idle",
    title: "A rail carried nothing in a run over several rails",
    severity: "fault",
    fires: "In a run over several rails the byte counters of one rail did not move.",
    reads: &[
        "a measurement",
        "/sys/class/infiniband/DEVICE/ports/PORT/counters/port_xmit_data",
    ],
    cause: "the engine does not know the device: `NCCL_IB_HCA` names only one twin, or the rail has no usable GID",
    meaning: "The job ran, and its figures look plausible, at half the bandwidth that was paid for. NCCL uses the \
        devices that it is told of or finds active and addressed; what it left out it names in one line of its \
        log.",
    fix: "List the devices of both rails in `NCCL_IB_HCA`, see that both have an address, and run `crosstie \
        explain --nccl-log` on the log.",
    verify: "`port_xmit_data` grows on every rail during a run.",
    explained_by: &[
        explains("twin-down", CauseScope::Cage),
        explains("fabric-port-down", CauseScope::Cage),
        explains("twin-unaddressed", CauseScope::Cage),
    ],
    run: CheckFunctions::stored(run),
};

fn run(measured: &RunWithFaults) -> Vec<CheckHit> {
    measured.hits(FaultKind::RailIdle)
}
