//! GPU data goes through host memory.

use crate::{Check, CheckFunctions};

pub(super) const CHECK: Check = Check {
    id: "gpu-path-staged",
    title: "RDMA from GPU memory is copied through host memory",
    severity: "fault",
    fires: "Where the GPU can do GPUDirect RDMA: the bandwidth with GPU memory is below 33 % of that with host \
        memory on the same pair.",
    reads: &["a measurement"],
    cause: "GPUDirect RDMA is not in use: no `nvidia_peermem`, no DMA-BUF, or the engine was told not to",
    meaning: "So large a gap is no detour on PCIe: each byte is copied to host memory, sent from there, and copied \
        again at the far end.",
    fix: "Load `nvidia-peermem` or use NVIDIA's open kernel module (see `gpudirect-off`), and see that \
        `NCCL_NET_GDR_LEVEL` does not forbid it.",
    verify: "Bandwidth with GPU memory is 90 % or more of that with host memory, and NCCL's log shows `GDRDMA`.",
    explained_by: &[],
    run: CheckFunctions::measured(),
};
