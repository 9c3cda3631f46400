//! Programs find no RDMA library.

use crosstie_model::distribution::PACKAGE_LISTS;

use crate::{Check, CheckFunctions, CheckHit, ExaminedNode};

pub(super) const CHECK: Check = Check {
    id: "rdma-userspace-missing",
    title: "The RDMA libraries are not installed",
    severity: "fault",
    fires: "dpkg's status does not have all of `rdma-core`, `libibverbs1` and `ibverbs-providers` as installed.",
    reads: &[PACKAGE_LISTS],
    cause: "a minimal installation, or packages removed halfway by another driver stack",
    meaning: "NCCL, MPI and the test tools load `libibverbs` when they start, and `libibverbs` loads the part for the card \
        from `ibverbs-providers`. If either is missing they find no RDMA device, say so in one line at most, and go over \
        TCP. `rdma-core` makes the device nodes and gives the devices their lasting names.",
    fix: "Install the missing packages.",
    verify: "`ibv_devinfo` (package `ibverbs-utils`) lists the card.",
    explained_by: &[],
    run: CheckFunctions::node(run),
};

fn run(node: &ExaminedNode) -> Vec<CheckHit> {
    // Without its list it is not known what is installed.
    let Some(installed) = node.facts.software.packages.known() else {
        return Vec::new();
    };
    let distribution = node.facts.distribution();
    let needed = distribution.packages.rdma.iter().copied();
    let missing: Vec<&str> = needed
        .filter(|package| !installed.contains_key(*package))
        .collect();
    if missing.is_empty() {
        return Vec::new();
    }
    let hit = CheckHit::fault(missing.join(", "));
    let hit = missing.iter().fold(hit, |hit, package| {
        hit.saw(
            format!("package {package}"),
            "not installed",
            distribution.package_database.path(),
        )
    });
    vec![hit.command(distribution.install_typed(&missing))]
}
