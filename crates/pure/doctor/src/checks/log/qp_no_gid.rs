//! A queue pair's GID is empty.

use crate::{Check, CheckFunctions};

pub(super) const CHECK: Check = Check {
    id: "nccl-qp-no-gid",
    title: "A connection failed: the GID at that index is empty",
    severity: "fault",
    fires: "`ibv_modify_qp` failed with 61, `No data available`. A line that says that it retries does not count.",
    reads: &["Call to ibv_modify_qp failed with …"],
    cause: "NCCL_IB_GID_INDEX points at an entry that has moved: the table changes when a link flaps, a peer \
        restarts or an address is set anew",
    meaning: "A RoCE connection names the entry of the port's GID table that it sends from. That entry is empty, so \
        the kernel refuses.",
    fix: "With NCCL 2.21 or newer unset NCCL_IB_GID_INDEX: it finds the entry itself. With an older one set the \
        index that the table has now, on each node.",
    verify: "The job starts, and with NCCL_DEBUG_SUBSYS=INIT,NET its queue pairs show a GID of the fabric's addresses.",
    explained_by: &[],
    run: CheckFunctions::log(),
};
