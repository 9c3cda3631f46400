//! A vendor driver stack is installed, and the kernel's own driver is what would be loaded.

use crosstie_model::{Distribution, distribution::PACKAGE_LISTS};

use crate::{Check, CheckFunctions, CheckHit, ExaminedNode};

pub(super) const CHECK: Check = Check {
    id: "ofed-not-running",
    title: "MLNX_OFED or DOCA-OFED is installed, but its driver is not used",
    severity: "fault",
    fires: "A kernel package of MLNX_OFED or DOCA-OFED is installed, but modules.dep of the running kernel takes \
        `mlx5_core` from the kernel's own tree (`kernel/…` instead of `updates/…` or `extra/…`). Where there is no \
        modules.dep: the loaded `mlx5_core` has no version, as only the vendor's has one.",
    reads: &[
        PACKAGE_LISTS,
        "/lib/modules/RELEASE/modules.dep",
        "/sys/module/mlx5_core/version",
    ],
    cause: "the driver was not built for the running kernel: DKMS failed, or had no headers, after a kernel update",
    meaning: "The vendor's user space then talks to the kernel's own driver. Some of it works; `nvidia_peermem`, quality of \
        service tools and newer cards may not, with errors that point elsewhere.",
    fix: "Build the driver for this kernel (with MLNX_OFED's installer: `--add-kernel-support`), read what DKMS says, \
        and restart. Or remove the packages and stay with the kernel's own driver.",
    verify: "`modinfo -n mlx5_core` names a file below `updates/` or `extra/`.",
    explained_by: &[],
    run: CheckFunctions::node(run),
};

fn run(node: &ExaminedNode) -> Vec<CheckHit> {
    let distribution = node.facts.distribution();
    let software = &node.facts.software;
    let packages = software.packages.known().into_iter().flatten();
    let package = packages
        .map(|(name, version)| (name.as_str(), version))
        .find(|(name, _)| is_kernel_package(distribution, name));
    let Some((package, version)) = package else {
        return Vec::new();
    };
    let hit = CheckHit::fault("mlx5_core").saw(
        format!("package {package}"),
        version,
        distribution.package_database.path(),
    );
    let hit = match software.module_paths.known() {
        Some(paths) => paths
            .get("mlx5_core")
            .filter(|path| path.starts_with("kernel/"))
            .map(|path| hit.saw("where mlx5_core is loaded from", path, modules_dep(node))),
        None => software
            .module("mlx5_core")
            .filter(|module| module.version.known().is_none())
            .map(|_| {
                let source = "/sys/module/mlx5_core/version";
                hit.saw("version of the loaded mlx5_core", "none", source)
            }),
    };
    let build = |hit: CheckHit| {
        let headers = distribution.packages.kernel_headers;
        hit.command(distribution.install_typed(&[headers]))
            .command(r#"sudo dkms autoinstall -k "$(uname -r)" && dkms status"#)
    };
    hit.map(build).into_iter().collect()
}

/// Its name may end in the kernel's version; packages that only add a repository build nothing.
fn is_kernel_package(distribution: &Distribution, name: &str) -> bool {
    let mut drivers = distribution.packages.vendor_drivers.iter();
    drivers.any(|start| name.starts_with(start)) && !name.contains("-repo")
}

fn modules_dep(node: &ExaminedNode) -> String {
    let release = node.facts.host.kernel.known();
    format!(
        "/lib/modules/{}/modules.dep",
        release.map_or("RELEASE", String::as_str)
    )
}

#[cfg(test)]
mod tests {
    use crosstie_model::distribution::DEBIAN;

    use super::*;

    fn is_driver(name: &str) -> bool {
        is_kernel_package(&DEBIAN, name)
    }

    #[test]
    fn only_packages_with_a_driver_count() {
        assert!(is_driver("mlnx-ofed-kernel-dkms"));
        assert!(is_driver("mlnx-ofed-kernel-modules-6.8.0-60-generic"));
        assert!(!is_driver("mlnx-ofed-kernel-utils"));
        assert!(!is_driver("doca-kernel-repo"));
        assert!(!is_driver("doca-ofed-userspace"));
    }
}
