//! The GPU could exchange data with the card directly, and nothing lets it.

use super::{has_module, has_vendor_driver};
use crate::{CauseScope, Check, CheckFunctions, CheckHit, ExaminedNode, explains};

pub(super) const CHECK: Check = Check {
    id: "gpudirect-off",
    title: "GPUDirect RDMA is not available, though the GPU can do it",
    severity: "warning",
    fires: "There is an RDMA card and a GPU that can do GPUDirect RDMA (no GB10, no GeForce); neither `nvidia_peermem` nor \
        `nv_peer_mem` is loaded; and DMA-BUF cannot be used, since that takes NVIDIA's open kernel module and Linux 5.12.",
    reads: &[
        "nvidia-smi -q -x",
        "/proc/modules",
        "/proc/driver/nvidia/version",
        "/proc/sys/kernel/osrelease",
    ],
    cause: "nvidia_peermem is not loaded, and the GPU driver is the closed one or the kernel is old",
    meaning: "With GPUDirect RDMA the card reads and writes GPU memory by itself. Without it each byte is first copied \
        through host memory: that costs bandwidth, latency and processor time.\n\n\
        Two ways lead there. `nvidia_peermem` works with MLNX_OFED or DOCA-OFED drivers. DMA-BUF works with the kernel's \
        own driver, from Linux 5.12 on, and needs the open variant of NVIDIA's kernel module.",
    fix: "With MLNX_OFED or DOCA-OFED load `nvidia-peermem`. With the kernel's own mlx5 driver install the open variant of \
        the NVIDIA driver instead: `nvidia-peermem` will not load there.",
    verify: "NCCL's log (`NCCL_DEBUG=INFO`) shows channels `via NET/IB/…/GDRDMA`.",
    explained_by: &[explains("peermem-load-failed", CauseScope::Node)],
    run: CheckFunctions::node(run),
};

const MODULES: [&str; 2] = ["nvidia_peermem", "nv_peer_mem"];

fn run(node: &ExaminedNode) -> Vec<CheckHit> {
    let facts = node.facts;
    let able = facts
        .gpus
        .iter()
        .find(|gpu| gpu.can_gpudirect())
        .filter(|_| facts.rdma.iter().any(|device| !device.software));
    let Some(gpu) = able else { return Vec::new() };
    // A list of modules without the GPU's own driver is not the machine's.
    let listed = has_module(node, "nvidia") == Some(true);
    let peermem = MODULES
        .iter()
        .any(|module| has_module(node, module) == Some(true));
    let Some(driver) = facts.software.nvidia_module.known() else {
        return Vec::new();
    };
    let Some(release) = facts.host.kernel.known() else {
        return Vec::new();
    };
    let open = driver.contains("Open Kernel Module");
    let Some(new_enough) = version(release).map(|version| version >= (5, 12)) else {
        return Vec::new();
    };
    if !listed || peermem || (open && new_enough) {
        return Vec::new();
    }
    let hit = CheckHit::warning(&gpu.name)
        .saw("GPU", &gpu.name, "nvidia-smi -q -x")
        .saw("nvidia_peermem, nv_peer_mem", "not loaded", "/proc/modules")
        .saw(
            "NVIDIA's kernel module",
            driver,
            "/proc/driver/nvidia/version",
        )
        .saw("kernel", release, "/proc/sys/kernel/osrelease");
    vec![if has_vendor_driver(node) {
        hit.command("sudo modprobe nvidia-peermem").command(format!(
            "echo nvidia-peermem | sudo tee {}/nvidia-peermem.conf",
            node.facts.distribution().folders.modules
        ))
    } else if open {
        hit.advice(
            "Use a kernel of 5.12 or later: NVIDIA's open kernel module then needs nothing else.",
        )
    } else {
        hit.advice(
            "The card runs on the kernel's own driver, over which `nvidia-peermem` does not load. Install the open \
             variant of the NVIDIA driver (packages that end in `-open`), which needs no `nvidia-peermem`.",
        )
    }]
}

/// `6.8.0-60-generic` → (6, 8).
fn version(release: &str) -> Option<(u32, u32)> {
    let mut parts = release.split(|c: char| !c.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::version;

    #[test]
    fn releases_compare_as_numbers() {
        assert_eq!(version("6.8.0-60-generic"), Some((6, 8)));
        assert_eq!(version("5.4-rc1"), Some((5, 4)));
        assert!(version("5.12.0") > version("5.4.0-200"));
        assert_eq!(version("next"), None);
    }
}
