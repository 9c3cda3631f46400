//! Data between nodes goes over sockets.

use crate::{Check, CheckFunctions};

pub(super) const CHECK: Check = Check {
    id: "nccl-socket-fallback",
    title: "NCCL sends data between nodes over TCP instead of RDMA",
    severity: "fault",
    fires: "A channel goes `via NET/Socket`, or a process says `Using network Socket`, in a run on more than one \
        node. A run on one node is left alone: nothing of it crosses the network.",
    reads: &[
        "Channel … via NET/Socket/N",
        "Using network Socket",
        "comm … nNodes N",
    ],
    cause: "NCCL could not use RDMA when it started (no device, no libibverbs, no /dev/infiniband in the container), \
        or a setting forbids it",
    meaning: "NCCL looks for RDMA once, when it starts, and takes TCP without a word when it finds none. Everything \
        works, at a tenth of the bandwidth and ten times the latency: about 16 Gb/s where 190 would be \
        possible.\n\nThe lines before `Using network` say why: `No device found`, `Failed to open libibverbs.so`, or \
        a setting.",
    fix: "Mend what the lines before `Using network` name. In a container: pass the devices in (`--device \
        /dev/infiniband --cap-add IPC_LOCK --ulimit memlock=-1 --network host`) and have rdma-core in the image. \
        Unset NCCL_IB_DISABLE and NCCL_NET.",
    verify: "Start the job again with NCCL_DEBUG=INFO: the log says `Using network IB`, and channels between nodes \
        go `via NET/IB`.",
    explained_by: &[],
    run: CheckFunctions::log(),
};
