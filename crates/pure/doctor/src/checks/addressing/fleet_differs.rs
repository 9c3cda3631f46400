//! Nodes of one kind run different versions.

use std::collections::{BTreeMap, BTreeSet};

use crosstie_model::distribution::PACKAGE_LISTS;

use crate::{
    Check, CheckFunctions, CheckHit, ExaminedCluster, ExaminedNode,
    terms::{listed, listed_briefly},
};

pub(super) const CHECK: Check = Check {
    id: "fleet-differs",
    title: "Nodes with the same hardware run different versions",
    severity: "warning",
    fires: "Nodes with the same card or the same GPU differ in card firmware, GPU driver, RDMA driver, kernel or \
        rdma-core.",
    reads: &[
        "/sys/class/infiniband/DEV/fw_ver",
        "nvidia-smi",
        "/sys/module/mlx5_core/version",
        "/proc/sys/kernel/osrelease",
        PACKAGE_LISTS,
    ],
    cause: "some nodes were updated and others were not",
    meaning: "A cluster is as good as its oddest node. Differences in firmware or driver show as one slow pair, a \
        collective that hangs, or a fault that comes and goes with the choice of nodes, and they are the last thing \
        anybody looks at.",
    fix: "Bring the nodes that differ to the version of the majority, or all of them to one newer version.",
    verify: "All nodes of a kind report the same version.",
    explained_by: &[],
    run: CheckFunctions::cluster(run),
};

/// What is compared, and where it is read.
type Trait = (&'static str, &'static str);

const FIRMWARE: Trait = ("firmware", "/sys/class/infiniband/DEV/fw_ver");
const GPU_DRIVER: Trait = ("GPU driver", "nvidia-smi");
const RDMA_DRIVER: Trait = ("RDMA driver", "/sys/module/mlx5_core/version");
const KERNEL: Trait = ("kernel", "/proc/sys/kernel/osrelease");

/// Value → nodes that have it.
type Votes<'a> = BTreeMap<String, Vec<&'a str>>;

fn run(cluster: &ExaminedCluster) -> Vec<CheckHit> {
    let mut fleets: BTreeMap<(Trait, String), Votes> = BTreeMap::new();
    for node in cluster.nodes.iter().filter(|node| node.concerns_us()) {
        for (subject, value, kind) in traits(node) {
            let votes = fleets.entry((subject, kind)).or_default();
            votes.entry(value).or_default().push(node.name);
        }
    }
    let mut told: BTreeSet<(Trait, Votes)> = BTreeSet::new();
    fleets
        .into_iter()
        .filter(|(_, votes)| votes.len() > 1)
        // A node's card and its GPU may make the same two groups: that is one finding.
        .filter(|((subject, _), votes)| told.insert((*subject, votes.clone())))
        .map(|((subject, kind), votes)| hit(subject, &kind, votes))
        .collect()
}

fn hit((what, source): Trait, kind: &str, votes: Votes) -> CheckHit {
    let mut votes: Vec<(String, Vec<&str>)> = votes.into_iter().collect();
    votes.sort_by_key(|(_, nodes)| std::cmp::Reverse(nodes.len()));
    let counts: Vec<usize> = votes.iter().map(|(_, nodes)| nodes.len()).collect();
    let advice = match votes.split_first() {
        Some(((most, _), rest)) if counts[0] > counts[1] => {
            let odd: Vec<&str> = rest.iter().flat_map(|(_, nodes)| nodes).copied().collect();
            let odd = listed_briefly(&odd);
            format!("{} nodes have {what} {most}: bring {odd} to it.", counts[0])
        }
        _ => format!("No version of {what} has a majority: choose one for all nodes."),
    };
    let hit = CheckHit::warning(format!("{what}, {kind}")).advice(advice);
    votes.into_iter().fold(hit, |hit, (value, nodes)| {
        hit.saw(format!("{what} {value}"), listed_briefly(&nodes), source)
    })
}

fn traits(node: &ExaminedNode) -> Vec<(Trait, String, String)> {
    let facts = node.facts;
    let mut found = Vec::new();
    let mut kinds: BTreeSet<String> = BTreeSet::new();
    let mut firmware: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for device in facts.rdma.iter().filter(|device| !device.software) {
        let Some(model) = device.model.known() else {
            continue;
        };
        kinds.insert(model.clone());
        // Boards of one chip have lines of firmware of their own.
        let board = match device.board.known() {
            Some(board) => format!("{model} {board}"),
            None => model.clone(),
        };
        if let Some(version) = device.firmware.known() {
            firmware.entry(board).or_default().insert(version);
        }
    }
    for (board, versions) in firmware {
        found.push((FIRMWARE, listed(versions), board));
    }
    let cards: Vec<String> = kinds.iter().cloned().collect();
    if let Some(driver) = facts
        .software
        .module("mlx5_core")
        .and_then(|module| module.version.known())
    {
        found.extend(
            cards
                .iter()
                .map(|card| (RDMA_DRIVER, driver.clone(), card.clone())),
        );
    }
    let gpus: BTreeSet<&str> = facts.gpus.iter().map(|gpu| gpu.name.as_str()).collect();
    if let Some(driver) = facts.gpus.driver.known() {
        found.extend(
            gpus.iter()
                .map(|gpu| (GPU_DRIVER, driver.clone(), (*gpu).to_owned())),
        );
    }
    kinds.extend(gpus.into_iter().map(str::to_owned));
    let kernel = facts.host.kernel.known().cloned();
    let distribution = facts.distribution();
    let package = distribution.packages.rdma_core;
    let rdma_core: Trait = (package, distribution.package_database.path());
    let version = facts.software.package(package).map(str::to_owned);
    for (subject, value) in [(KERNEL, kernel), (rdma_core, version)] {
        let value = value.into_iter();
        found.extend(value.flat_map(|value| {
            kinds
                .iter()
                .map(move |kind| (subject, value.clone(), kind.clone()))
        }));
    }
    found
}
