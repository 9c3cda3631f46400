//! Packets that are sent and do not arrive.

use crosstie_grade::FaultKind;

use crate::{CauseScope, Check, CheckFunctions, CheckHit, RunWithFaults, explains};

pub(super) const CHECK: Check = Check {
    id: "path-loses-packets",
    title: "Packets are lost between two nodes",
    severity: "warning, fault above 0.1 % of the packets",
    fires: "During a measurement one end sent more packets than the other received, and the protocol noticed: gaps in the \
        sequence at the receiver, or a sender that sent again. Or nothing arrives at all.",
    reads: &[
        "a measurement",
        "/sys/class/infiniband/DEVICE/ports/PORT/{counters,hw_counters}",
        "/sys/class/net/IF/statistics",
    ],
    cause: "a poor cable or transceiver, a switch that drops for want of flow control, or a receiver that cannot keep up",
    meaning: "RDMA has no patience with loss: a sender repeats everything after a lost packet, or waits for a timeout. Gaps at \
        the receiver mean that data was lost on the way there. A sender that sends again while the receiver saw no gap \
        has missed acknowledgements: the return path loses them.\n\n\
        The finding names the direction, and what may be at fault: what all lossy paths have in common, and no \
        path without loss.",
    fix: "Look at error and discard counters of both ports and of the switch ports between them. Seat the cable again, \
        clean or change it. Swap its ends: what moves along is the cable. Discards without errors are congestion: switch \
        priority flow control and ECN on, on hosts and switches.",
    verify: "A measurement (`prove`) counts as many packets received as sent.",
    explained_by: &[
        explains("cable-dead", CauseScope::Cable),
        explains("fabric-port-down", CauseScope::Cable),
        explains("twin-down", CauseScope::Cable),
        explains("mtu-mismatch", CauseScope::Cable),
        explains("node-off", CauseScope::Peer),
    ],
    run: CheckFunctions::stored(run),
};

fn run(measured: &RunWithFaults) -> Vec<CheckHit> {
    measured.hits(FaultKind::PathLosesPackets)
}
