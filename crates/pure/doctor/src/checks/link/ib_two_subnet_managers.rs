//! Two nodes of one InfiniBand fabric obey different subnet managers.

use std::collections::{BTreeMap, BTreeSet};

use crosstie_model::facts::rdma::LinkLayer;

use crate::{Check, CheckFunctions, CheckHit, ExaminedCluster, ExaminedNode, ExaminedPort};

pub(super) const CHECK: Check = Check {
    id: "ib-two-subnet-managers",
    title: "Nodes of one InfiniBand fabric have different subnet managers",
    severity: "warning",
    fires: "Nodes with the same subnet prefix report different `sm_lid`. A node that sees several fabrics agrees with one that \
        sees some of them.",
    reads: &[
        "/sys/class/infiniband/DEVICE/ports/PORT/sm_lid",
        "/sys/class/infiniband/DEVICE/ports/PORT/gids/0",
    ],
    cause: "two masters that do not see each other: a fabric that fell apart, or two separate fabrics with the same prefix",
    meaning: "One fabric has one master subnet manager; further ones stand by and take over when it dies. Two masters at once \
        hand out the same addresses twice, and the nodes of one do not reach those of the other.",
    fix: "Stop all but one (`sudo systemctl disable --now opensm`), or give them priorities so that the others stand by. If \
        these are separate fabrics on purpose, give each a subnet prefix of its own.",
    verify: "`sminfo` names the same master on every node.",
    explained_by: &[],
    run: CheckFunctions::cluster(run),
};

/// By node: the subnet managers that its ports know.
type Managers<'a> = BTreeMap<&'a str, (&'a ExaminedNode<'a>, BTreeSet<u32>)>;

fn run(cluster: &ExaminedCluster) -> Vec<CheckHit> {
    let mut fabrics: BTreeMap<u64, Managers> = BTreeMap::new();
    for node in &cluster.nodes {
        for (prefix, lid, _) in ports(node) {
            let managers = fabrics.entry(prefix).or_default();
            let (_, lids) = managers
                .entry(node.name)
                .or_insert_with(|| (node, BTreeSet::new()));
            lids.insert(lid);
        }
    }
    let fabrics = fabrics.into_iter();
    fabrics
        .filter_map(|(prefix, managers)| hit(prefix, &managers))
        .collect()
}

/// The active InfiniBand ports of the fabric: subnet prefix, subnet manager, port.
fn ports<'a>(node: &'a ExaminedNode<'a>) -> impl Iterator<Item = (u64, u32, &'a ExaminedPort<'a>)> {
    node.fabric.iter().filter_map(|port| {
        let infiniband = port.port.link_layer.known() == Some(&LinkLayer::InfiniBand);
        let lid = *port.port.sm_lid.known().filter(|lid| **lid != 0)?;
        let gid = port.port.gids.iter().find(|entry| entry.index == 0)?.gid;
        let prefix = u64::try_from(u128::from(gid.0) >> 64).ok()?;
        (infiniband && port.port.is_active()).then_some((prefix, lid, port))
    })
}

fn hit(prefix: u64, managers: &Managers) -> Option<CheckHit> {
    let mut votes: BTreeMap<&BTreeSet<u32>, usize> = BTreeMap::new();
    for (_, lids) in managers.values() {
        *votes.entry(lids).or_default() += 1;
    }
    let (most, _) = votes.into_iter().max_by_key(|(_, count)| *count)?;
    let agrees = |lids: &BTreeSet<u32>| lids.is_subset(most) || most.is_subset(lids);
    let odd: Vec<&&str> = managers
        .iter()
        .filter(|(_, (_, lids))| !agrees(lids))
        .map(|(name, _)| name)
        .collect();
    if odd.is_empty() {
        return None;
    }
    // Without a clear majority nobody is the odd one.
    let odd = if odd.len() * 2 >= managers.len() {
        managers.keys().collect()
    } else {
        odd
    };
    let like_most = managers
        .iter()
        .find(|(name, (_, lids))| lids == most && !odd.contains(name));
    let shown = managers
        .iter()
        .filter(|(name, _)| odd.contains(name))
        .chain(like_most);
    let subject: Vec<&str> = odd.iter().map(|name| **name).collect();
    let hit = shown
        .flat_map(|(_, (node, _))| ports(node).map(move |(own, lid, port)| (node, own, lid, port)))
        .filter(|(_, own, _, _)| *own == prefix)
        .fold(
            CheckHit::warning(subject.join(", ")),
            |hit, (node, _, lid, port)| {
                let what = format!("sm_lid of {} on {}", port.label(), node.name);
                hit.saw(what, lid, port.file("sm_lid"))
            },
        );
    Some(hit)
}
