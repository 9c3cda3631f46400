//! A GB10 has no GPUDirect RDMA, and needs none.

use crate::{Check, CheckFunctions, CheckHit, ExaminedNode};

pub(super) const CHECK: Check = Check {
    id: "gpudirect-not-on-gb10",
    title: "A GB10 has no GPUDirect RDMA, by design",
    severity: "info",
    fires: "The GPU is a GB10 (DGX Spark and its siblings).",
    reads: &["nvidia-smi -q -x"],
    cause: "CPU and GPU share one memory",
    meaning: "NCCL prints `GPU Direct RDMA Disabled` on these machines, and guides for other GPUs take that for a fault. \
        Here it is none: GPU and CPU share one memory, so there is no GPU memory for the card to reach past the CPU. \
        About 21 to 24 GB/s between two Sparks is what a healthy pair gives without it.",
    fix: "Nothing is to be done. `nvidia-peermem` is of no use here.",
    verify: "Nothing is to be verified.",
    explained_by: &[],
    run: CheckFunctions::node(run),
};

fn run(node: &ExaminedNode) -> Vec<CheckHit> {
    let gpu = node.facts.gpus.iter().find(|gpu| gpu.is_gb10());
    gpu.map(|gpu| CheckHit::info(&gpu.name).saw("GPU", &gpu.name, "nvidia-smi -q -x"))
        .into_iter()
        .collect()
}
