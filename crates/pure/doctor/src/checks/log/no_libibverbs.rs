//! libibverbs cannot be opened.

use crate::{Check, CheckFunctions};

pub(super) const CHECK: Check = Check {
    id: "nccl-no-libibverbs",
    title: "libibverbs is missing where the job runs",
    severity: "fault (info in a run on one node)",
    fires: "`Failed to open libibverbs.so`; from NCCL 2.30 on, when `libibverbs.so.1`, the last name that it tries, \
        cannot be opened. In a run that is known to be on one node it is for information: nothing crosses the \
        network there.",
    reads: &[
        "Failed to open libibverbs.so[.1]",
        "Count not open libibverbs.so.1",
    ],
    cause: "the container's image has no rdma-core, or the library is not in the loader's path",
    meaning: "NCCL loads libibverbs when it starts. Without it there is no RDMA, whatever the machine has, and NCCL \
        goes on over TCP.",
    fix: "Install it where the job runs: in the image, not on the machine alone.",
    verify: "`ibv_devinfo` works inside the container, and the log says `NET/IB : Using`.",
    explained_by: &[],
    run: CheckFunctions::log(),
};
