//! Channels by RDMA go through host memory.

use crate::{Check, CheckFunctions};

pub(super) const CHECK: Check = Check {
    id: "nccl-gdr-off",
    title: "RDMA goes through host memory, not straight to the GPU",
    severity: "info (warning on GPUs that can do GPUDirect)",
    fires: "Channels go `via NET/IB` without `/GDRDMA`. For information, unless the node's facts (`--from`) show a \
        GPU that can do GPUDirect RDMA: neither a GB10, whose memory is the CPU's, nor a GeForce.",
    reads: &["Channel … via NET/IB/N", "the node's facts, where given"],
    cause: "the GPU has no GPUDirect RDMA (GB10, GeForce), or its driver's part of it is not loaded",
    meaning: "The card reads and writes host memory, and data is copied between that and the GPU. On a GB10 they are \
        the same memory and nothing is lost. On a data-centre GPU it costs bandwidth and latency.",
    fix: "On a GB10 or a GeForce: nothing. Else load nvidia_peermem, or use the open kernel module with a kernel \
        from 5.12 on, and leave NCCL_NET_GDR_LEVEL unset.",
    verify: "Channels go `via NET/IB/N/GDRDMA`.",
    explained_by: &[],
    run: CheckFunctions::log(),
};
