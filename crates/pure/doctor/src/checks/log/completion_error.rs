//! The card reported a failed transfer.

use crate::{Check, CheckFunctions};

pub(super) const CHECK: Check = Check {
    id: "nccl-completion-error",
    title: "A transfer failed",
    severity: "fault",
    fires: "`Got completion from peer … with error N`, `status=N` or `status=NAME(N)`, with any N but 0.",
    reads: &["NET/IB: Got completion from peer … with status=N"],
    cause: "status 12: no answer from the peer; 5: follows another failure; 10: the peer refused access; 13: the \
        peer was not ready",
    meaning: "The card gives each failed transfer a status:\n\n- 12, retry exceeded: nobody answered. Wrong \
        neighbour, a smaller MTU on the way, a cable, or the peer is gone.\n- 5, flushed: the connection had failed \
        before; look for the first error.\n- 10, remote access error: the peer's memory was not, or no longer, \
        registered.\n- 13, receiver not ready: the peer posted no buffer in time; it hangs or is far \
        behind.\n\nSmall messages may pass while large ones die: that is the MTU.",
    fix: "Go by the status. For 12, run `crosstie doctor` on both nodes and try a full-size frame (`ping -M do -s \
        8972`); for the others, look for the first error on the peer.",
    verify: "The job runs, and the error counters of the ports do not grow meanwhile.",
    explained_by: &[],
    run: CheckFunctions::log(),
};
