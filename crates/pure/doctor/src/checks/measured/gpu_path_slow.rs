//! GPU memory is slower than host memory on the same pair.

use crate::{Check, CheckFunctions};

pub(super) const CHECK: Check = Check {
    id: "gpu-path-slow",
    title: "RDMA from GPU memory is slower than from host memory",
    severity: "warning",
    fires: "Where the GPU can do GPUDirect RDMA: the bandwidth with GPU memory is below 90 % of that with host \
        memory on the same pair. Below 33 % it is `gpu-path-staged`.",
    reads: &["a measurement"],
    cause: "GPU and card on different processors, or PCIe access control that sends their traffic through the root",
    meaning: "With GPUDirect RDMA the card reads GPU memory over PCIe. If the two hang on one PCIe switch that is as \
        fast as host memory. The longer the way between them, the slower: over the root of one processor a \
        little, between two processors a lot.",
    fix: "Put GPU and card below one PCIe switch or at least one processor (`nvidia-smi topo -m`), and switch PCIe \
        access control (ACS) off on the bridges between them where no virtual machines need it.",
    verify: "Bandwidth with GPU memory is 90 % or more of that with host memory.",
    explained_by: &[],
    run: CheckFunctions::measured(),
};
