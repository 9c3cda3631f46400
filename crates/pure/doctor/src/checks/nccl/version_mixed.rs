//! Nodes would load different versions of NCCL.

use std::collections::{BTreeMap, BTreeSet};

use crosstie_model::{Facts, distribution::DEBIAN};

use crate::{
    Check, CheckFunctions, CheckHit, ExaminedCluster,
    terms::{listed, listed_briefly},
};

pub(super) const CHECK: Check = Check {
    id: "nccl-version-mixed",
    title: "Nodes load different versions of NCCL",
    severity: "fault",
    fires: "Two nodes have NCCL libraries and no version of it in common. Nodes with a library of unknown version are left \
        out; a node with several versions counts as having any of them.",
    reads: &[
        "/usr/lib/*/libnccl.so.2",
        "/usr/local/cuda*/lib64/libnccl.so.2",
        "nvidia_nccl_cu*.dist-info of Python packages",
        "/var/lib/dpkg/status (libnccl2)",
    ],
    cause: "NCCL was installed or updated on some nodes only",
    meaning: "All ranks of a job must load the same NCCL: its messages between ranks differ from version to version. A \
        mixed job hangs at the start, or fails with an internal error that names everything but the cause.",
    fix: "Install one version on all nodes, or run the job from one container image.",
    verify: "With `NCCL_DEBUG=VERSION` each rank prints the same version.",
    explained_by: &[],
    run: CheckFunctions::cluster(run),
};

fn run(cluster: &ExaminedCluster) -> Vec<CheckHit> {
    let mut groups: BTreeMap<BTreeSet<String>, Vec<&str>> = BTreeMap::new();
    for node in cluster.nodes.iter().filter(|node| node.concerns_us()) {
        if let Some(versions) = versions(node.facts) {
            groups.entry(versions).or_default().push(node.name);
        }
    }
    let apart = groups
        .keys()
        .any(|one| groups.keys().any(|other| one.is_disjoint(other)));
    if !apart {
        return Vec::new();
    }
    let source = format!("libnccl.so.2 on disk, {}", query(cluster));
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|(_, nodes)| std::cmp::Reverse(nodes.len()));
    let hit = groups
        .into_iter()
        .fold(CheckHit::fault("libnccl"), |hit, (versions, nodes)| {
            let names = listed_briefly(&nodes);
            hit.saw(format!("NCCL {}", listed(versions)), names, &source)
        });
    vec![hit]
}

/// How a person sees which version a package has.
fn query(cluster: &ExaminedCluster) -> String {
    let first = cluster.nodes.first();
    let distribution = first.map_or(&DEBIAN, |node| node.facts.distribution());
    let (query, package) = (
        distribution.package_manager.query,
        distribution.packages.nccl,
    );
    format!("{query} {package}")
}

/// What a job could load; `None` if there is nothing, or something that cannot be told.
fn versions(facts: &Facts) -> Option<BTreeSet<String>> {
    let package = facts
        .software
        .package(facts.distribution().packages.nccl)
        .map(release);
    let mut found: BTreeSet<String> = package.into_iter().collect();
    let libraries = facts.software.libraries.iter();
    for library in libraries.filter(|library| library.name == "libnccl") {
        match library.version.known() {
            Some(version) => found.insert(release(version)),
            // A plain file that the package may or may not have put there.
            None => return None,
        };
    }
    (!found.is_empty()).then_some(found)
}

/// `2.28.9-1+cuda13.0` → `2.28.9`
fn release(version: &str) -> String {
    let end = version.find(['-', '+', '~']).unwrap_or(version.len());
    version[..end].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_and_libraries_speak_of_the_same_release() {
        assert_eq!(release("2.28.9-1+cuda13.0"), "2.28.9");
        assert_eq!(release("2.28.9"), "2.28.9");
    }
}
