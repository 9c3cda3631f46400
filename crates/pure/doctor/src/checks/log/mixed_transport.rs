//! Some channels between nodes go by RDMA and some by sockets.

use crate::{Check, CheckFunctions};

pub(super) const CHECK: Check = Check {
    id: "nccl-mixed-transport",
    title: "Some channels between nodes use RDMA and some TCP",
    severity: "fault",
    fires: "In one run on more than one node, some channels go `via NET/IB` and some `via NET/Socket`; or, where no \
        channel is shown, some processes use the network IB and some Socket.",
    reads: &[
        "Channel … via NET/IB/N",
        "Channel … via NET/Socket/N",
        "Using network …",
    ],
    cause: "the nodes or their containers differ: on one of them NCCL found no RDMA, or a setting differs",
    meaning: "Collectives run at the speed of the slowest channel, so the TCP ones set the pace for all. Often the \
        job does not start at all.",
    fix: "Compare the nodes: the image, /dev/infiniband in it, and the settings. `crosstie doctor` on all of them \
        shows what differs.",
    verify: "All channels between nodes go `via NET/IB`.",
    explained_by: &[],
    run: CheckFunctions::log(),
};
