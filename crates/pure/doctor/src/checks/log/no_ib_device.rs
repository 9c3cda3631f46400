//! NCCL found no RDMA device.

use crate::{Check, CheckFunctions};

pub(super) const CHECK: Check = Check {
    id: "nccl-no-ib-device",
    title: "NCCL found no RDMA device that it may use",
    severity: "fault",
    fires: "`NET/IB : No device found` in a run on more than one node, unless a plugin for another kind of network \
        serves the node.",
    reads: &["NET/IB : No device found."],
    cause: "the devices are not visible where the job runs (a container without /dev/infiniband), no port is active, \
        or NCCL_IB_HCA matches none of them",
    meaning: "libibverbs is there, but shows no device with an active port that NCCL_IB_HCA allows. NCCL goes on \
        over TCP.",
    fix: "Look at the devices where the job runs, inside the container. Where there are none, pass /dev/infiniband \
        in; where ports are down, bring them up; where names differ from NCCL_IB_HCA, correct it: names change with \
        udev and differ between machines.",
    verify: "The log says `NET/IB : Using` with the devices, then `Using network IB`.",
    explained_by: &[],
    run: CheckFunctions::log(),
};
