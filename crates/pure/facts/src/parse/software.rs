//! Modules, packages and services.

use std::collections::BTreeMap;

use crosstie_model::{
    Distribution, Reading,
    distribution::PackageDatabase,
    facts::software::{LoadedModule, SoftwareFacts},
};

use super::{host, libraries};
use crate::{RawCapture, collect::rules::below_root};

pub(super) fn software(raw: &RawCapture) -> SoftwareFacts {
    SoftwareFacts {
        modules: modules(raw),
        module_paths: module_paths(raw),
        packages: packages(raw),
        libraries: libraries::libraries(raw),
        services: services(raw),
        nvidia_module: raw.text("proc/driver/nvidia/version").map(|text| {
            text.lines()
                .next()
                .unwrap_or("")
                .trim_start_matches("NVRM version:")
                .trim()
                .to_owned()
        }),
    }
}

/// `/proc/modules` where it is, with what `/sys/module` adds.
fn modules(raw: &RawCapture) -> BTreeMap<String, LoadedModule> {
    let loaded = raw.text("proc/modules").into_known().unwrap_or("");
    let listed = loaded.lines().filter_map(|line| {
        let name = line.split(' ').next().filter(|name| !name.is_empty())?;
        let taint = line.rsplit(' ').next().unwrap_or("");
        Some((name, taint.starts_with('(') && taint.contains('O')))
    });
    let built_in = raw
        .names("sys/module")
        .into_iter()
        .map(|name| (name, false));
    let mut modules: BTreeMap<String, LoadedModule> = BTreeMap::new();
    for (name, out_of_tree) in built_in.chain(listed) {
        let module = modules.entry(name.to_owned()).or_default();
        module.version = raw.word(&format!("sys/module/{name}/version"));
        module.out_of_tree |= out_of_tree;
    }
    // The policy file below it is read of every machine; it does not make this a module of interest.
    modules.remove("pcie_aspm");
    modules
}

/// Module name → path below the modules directory of the running kernel.
fn module_paths(raw: &RawCapture) -> Reading<BTreeMap<String, String>> {
    let release = raw.word("proc/sys/kernel/osrelease");
    release
        .and_then(|release| raw.text(&format!("lib/modules/{release}/modules.dep")))
        .map(|text| {
            let paths = text.lines().filter_map(|line| {
                let path = line.split_once(':')?.0;
                let file = path.rsplit('/').next()?;
                Some((file.split('.').next()?.replace('-', "_"), path.to_owned()))
            });
            paths.collect()
        })
}

/// Installed packages with their versions.
fn packages(raw: &RawCapture) -> Reading<BTreeMap<String, String>> {
    let release = raw.text("etc/os-release");
    match Distribution::of(&host::distro(&release)).package_database {
        PackageDatabase::Dpkg { path } => raw.text(below_root(path)).map(of_dpkg),
    }
}

/// `Status: … installed`, not merely configured or half removed.
fn of_dpkg(text: &str) -> BTreeMap<String, String> {
    text.split("\n\n")
        .filter_map(|stanza| {
            let field = |key: &str| {
                let mut lines = stanza.lines().filter_map(|line| line.split_once(": "));
                lines
                    .find(|(found, _)| *found == key)
                    .map(|(_, value)| value.trim())
            };
            let installed = field("Status")?.ends_with(" installed");
            installed.then_some((
                field("Package")?.to_owned(),
                field("Version").unwrap_or("").to_owned(),
            ))
        })
        .collect()
}

fn services(raw: &RawCapture) -> Vec<String> {
    let names = raw.names("sys/fs/cgroup/system.slice").into_iter();
    names
        .filter_map(|name| name.strip_suffix(".service"))
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_removed_packages_are_not_installed() {
        let text = "Package: a\nStatus: install ok installed\nVersion: 1\n\nPackage: b\nStatus: deinstall ok config-files\nVersion: 2\n\nPackage: c\nStatus: install ok half-installed\nVersion: 2";
        assert_eq!(of_dpkg(text).keys().collect::<Vec<_>>(), ["a"]);
    }
}
