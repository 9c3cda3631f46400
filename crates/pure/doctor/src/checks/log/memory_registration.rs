//! Memory could not be locked for the card.

use crate::{Check, CheckFunctions};

pub(super) const CHECK: Check = Check {
    id: "nccl-memory-registration",
    title: "Memory could not be registered with the card",
    severity: "fault",
    fires: "`ibv_reg_mr`, `ibv_reg_mr_iova2` or `ibv_reg_dmabuf_mr` failed with `Cannot allocate memory`.",
    reads: &["Call to ibv_reg_mr… failed with error Cannot allocate memory"],
    cause: "the limit of locked memory is too low for the job or its container; where it is unlimited: a kernel \
        whose kexec handover takes the contiguous memory (CmaFree above CmaTotal)",
    meaning: "Memory that the card reads and writes is locked. The limit is per process and comes from the login, \
        the service or the container, so a shell may show another one than the job has.",
    fix: "Set the limit to unlimited: in a drop-in of limits.d for logins, LimitMEMLOCK for services, `--ulimit \
        memlock=-1` for containers. Where it is so already, compare CmaFree with CmaTotal, and start with `kho=off` \
        if it is larger.",
    verify: "`/proc/PID/limits` of the job shows unlimited locked memory, and the job starts.",
    explained_by: &[],
    run: CheckFunctions::log(),
};
