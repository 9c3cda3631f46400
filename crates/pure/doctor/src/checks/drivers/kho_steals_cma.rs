//! Kexec handover took memory that the accounts still show as free.

use crate::{Check, CheckFunctions, CheckHit, ExaminedNode};

pub(super) const CHECK: Check = Check {
    id: "kho-steals-cma",
    title: "Kexec handover took memory that belongs to devices",
    severity: "fault",
    fires: "`/proc/meminfo` shows more free contiguous memory than there is: `CmaFree` above `CmaTotal`.",
    reads: &["/proc/meminfo"],
    cause: "a bug of kexec handover (KHO) in some kernels, seen with 7.0.0-1019",
    meaning: "The kernel keeps a pool of contiguous memory (CMA) for devices. This bug puts foreign pages into it; then \
        registering memory fails with `Cannot allocate memory`, though memory is plenty and locked memory unlimited.",
    fix: "Start the kernel with `kho=off`, or use a kernel without the bug.",
    verify: "`CmaFree` is below `CmaTotal` in `/proc/meminfo`.",
    explained_by: &[],
    run: CheckFunctions::node(run),
};

fn run(node: &ExaminedNode) -> Vec<CheckHit> {
    let memory = &node.facts.host.memory;
    let (Some(total), Some(free)) = (memory.cma_total.known(), memory.cma_free.known()) else {
        return Vec::new();
    };
    if free <= total {
        return Vec::new();
    }
    let mut hit = CheckHit::fault("CMA")
        .saw("CmaTotal", total, "/proc/meminfo")
        .saw("CmaFree", free, "/proc/meminfo");
    if let Some(release) = node.facts.host.kernel.known() {
        hit = hit.saw("kernel", release, "/proc/sys/kernel/osrelease");
    }
    vec![hit.kernel_parameter(node, "kho=off")]
}
