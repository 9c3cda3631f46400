//! PCIe links are put to sleep to save power.

use crate::{Check, CheckFunctions, CheckHit, ExaminedNode};

pub(super) const CHECK: Check = Check {
    id: "aspm-enabled",
    title: "PCIe links go to sleep when idle",
    severity: "info",
    fires: "The policy of active-state power management is `powersave` or `powersupersave`.",
    reads: &["/sys/module/pcie_aspm/parameters/policy"],
    cause: "a power-saving default of the distribution or of a power tool",
    meaning: "A sleeping link takes some microseconds to wake. A small message that takes 2 µs over RDMA may then take \
        ten times as long, now and then: it shows as a long tail of latencies, not as lost bandwidth.",
    fix: "Set the policy to `performance` (until the next start), or for good by the kernel parameter \
        `pcie_aspm.policy=performance` or in the firmware setup.",
    verify: "The word in brackets in the policy file is `performance` or `default`.",
    explained_by: &[],
    run: CheckFunctions::node(run),
};

const POLICY: &str = "/sys/module/pcie_aspm/parameters/policy";

fn run(node: &ExaminedNode) -> Vec<CheckHit> {
    let policy = node.facts.system.aspm_policy.known();
    let saving = policy.filter(|policy| matches!(policy.as_str(), "powersave" | "powersupersave"));
    let hit = |policy: &String| {
        CheckHit::info("pcie_aspm")
            .saw("policy", policy, POLICY)
            .command(format!("echo performance | sudo tee {POLICY}"))
    };
    saving.map(hit).into_iter().collect()
}
