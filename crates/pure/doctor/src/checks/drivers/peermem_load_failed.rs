//! The kernel refused to load `nvidia_peermem`.

use super::{has_module, has_vendor_driver};
use crate::{CauseScope, Check, CheckFunctions, CheckHit, ExaminedNode, explains};

pub(super) const CHECK: Check = Check {
    id: "peermem-load-failed",
    title: "nvidia_peermem could not be loaded",
    severity: "warning",
    fires: "The kernel log shows `nvidia_peermem` (or `nv_peer_mem`) failing with an unknown symbol or an invalid argument, \
        and it is not loaded now. Silent on a GB10, which has no use for it.",
    reads: &["dmesg", "/proc/modules"],
    cause: "the module was built against another RDMA stack than the one that runs",
    meaning: "`nvidia_peermem` registers with a part of the RDMA core that only MLNX_OFED and DOCA-OFED bring. It has to be \
        built after that stack was installed, and it never loads over the kernel's own driver. Until then GPUDirect RDMA \
        depends on DMA-BUF.",
    fix: "Install in this order: first MLNX_OFED or DOCA-OFED, then the NVIDIA driver (so that its modules are built \
        against it), then load `nvidia-peermem`. With the kernel's own mlx5 driver use NVIDIA's open kernel module \
        instead, which needs no `nvidia-peermem`.",
    verify: "`sudo modprobe nvidia-peermem` says nothing, and `lsmod` shows it.",
    explained_by: &[explains("ofed-not-running", CauseScope::Node)],
    run: CheckFunctions::node(run),
};

const MODULES: [&str; 3] = ["nvidia_peermem", "nvidia-peermem", "nv_peer_mem"];

fn run(node: &ExaminedNode) -> Vec<CheckHit> {
    let loaded = ["nvidia_peermem", "nv_peer_mem"]
        .iter()
        .any(|module| has_module(node, module) == Some(true));
    if loaded || node.has_gb10() {
        return Vec::new();
    }
    let log = node.facts.system.kernel_log.known().into_iter().flatten();
    let failure = log
        .map(|line| line.text.as_str())
        .find(|line| is_failure(line));
    let hit = |line: &str| {
        let hit = CheckHit::warning("nvidia_peermem").saw("what the kernel said", line, "dmesg");
        if has_vendor_driver(node) {
            hit.command("sudo dkms autoinstall && sudo modprobe nvidia-peermem")
        } else {
            hit.cause(
                "the card runs on the kernel's own driver, over which nvidia_peermem does not load",
            )
        }
    };
    failure.map(hit).into_iter().collect()
}

fn is_failure(line: &str) -> bool {
    const WORDS: [&str; 4] = [
        "unknown symbol",
        "disagrees about version of symbol",
        "invalid argument",
        "err -22",
    ];
    let line = line.to_ascii_lowercase();
    MODULES.iter().any(|module| line.contains(module))
        && WORDS.iter().any(|word| line.contains(word))
}

#[cfg(test)]
mod tests {
    use super::is_failure;

    #[test]
    fn only_failures_of_the_module_itself_count() {
        assert!(is_failure(
            "nvidia_peermem: Unknown symbol ib_register_peer_memory_client (err -2)"
        ));
        assert!(is_failure(
            "nv_peer_mem: disagrees about version of symbol ib_register_peer_memory_client"
        ));
        assert!(!is_failure("nvidia_peermem: loaded"));
        assert!(!is_failure("mlx5_ib: Unknown symbol x (err -22)"));
    }
}
