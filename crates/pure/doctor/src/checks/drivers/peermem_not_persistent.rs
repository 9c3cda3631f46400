//! GPUDirect works until the next reboot.

use super::{container, has_module};
use crate::{Check, CheckFunctions, CheckHit, ExaminedNode};

pub(super) const CHECK: Check = Check {
    id: "peermem-not-persistent",
    title: "nvidia_peermem is loaded, but not at the next start",
    severity: "warning",
    fires: "`nvidia_peermem` is loaded, and neither `/etc/modules` nor a file in modules-load.d of /etc, /run or /usr/lib \
        names it (a hyphen is as good as an underscore). Silent on a GB10, which has no use for it, and in containers, \
        whose files do not decide.",
    reads: &[
        "/proc/modules",
        "/etc/modules",
        "/{etc,run,usr/lib}/modules-load.d/*.conf",
    ],
    cause: "it was loaded by hand",
    meaning: "Nothing loads `nvidia_peermem` by itself. After the next reboot GPUDirect RDMA is gone, NCCL says nothing, and \
        collectives are slower.",
    fix: "Name the module in a file of modules-load.d.",
    verify: "After a reboot `lsmod` still shows `nvidia_peermem`.",
    explained_by: &[],
    run: CheckFunctions::node(run),
};

fn run(node: &ExaminedNode) -> Vec<CheckHit> {
    const MODULE: &str = "nvidia_peermem";
    let loaded = has_module(node, MODULE) == Some(true);
    let named = node.facts.persistence.modules.contains_key(MODULE);
    if !loaded || named || node.has_gb10() || container(node).is_some() {
        return Vec::new();
    }
    vec![
        CheckHit::warning(MODULE)
            .saw("module nvidia_peermem", "loaded", "/proc/modules")
            .saw(
                "files that load it at the start",
                "none",
                "/etc/modules, /{etc,run,usr/lib}/modules-load.d/*.conf",
            )
            .command(format!(
                "echo nvidia-peermem | sudo tee {}/nvidia-peermem.conf",
                node.facts.distribution().folders.modules
            )),
    ]
}
