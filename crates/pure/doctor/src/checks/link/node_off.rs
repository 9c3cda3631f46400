//! A node does not answer, and its cables are dark.

use crosstie_model::{Cable, PortRef};

use super::cable_dead::{CableEndSignal, light};
use crate::{Check, CheckFunctions, CheckHit, ExaminedCluster, FindingSite, UnreadNode};

pub(super) const CHECK: Check = Check {
    id: "node-off",
    title: "A node does not answer, and every cable to it is dark",
    severity: "fault",
    fires: "A node of the cluster file could not be examined, and every other node that it is cabled to, as far as they were \
        read, sees no signal on that cable. A node that does not answer while its cables have their light on is a matter of \
        ssh or the management network, and no finding.",
    reads: &[
        "the attempt to reach the node",
        "/sys/class/net/IF/carrier (on its neighbours)",
    ],
    cause: "the node is switched off, hangs, or lost its power or its card",
    meaning: "A machine that is off takes the light away from the other end of each of its cables. Those ports look as if their \
        cables were pulled; they are not to be blamed.",
    fix: "Look at the node: switch it on, or find out at its console why it does not start. A DGX Spark wants its cables in \
        when it starts.",
    verify: "`crosstie doctor` examines the node, and its cables are lit.",
    explained_by: &[],
    run: CheckFunctions::cluster(run),
};

fn run(cluster: &ExaminedCluster) -> Vec<CheckHit> {
    let unread = cluster.unread.iter();
    unread.filter_map(|unread| hit(cluster, unread)).collect()
}

fn hit(cluster: &ExaminedCluster, unread: &UnreadNode) -> Option<CheckHit> {
    let spec = cluster.spec?;
    spec.node(&unread.host)?;
    let neighbours = spec
        .cables
        .iter()
        .filter_map(|cable| other_end(cable, &unread.host));
    let seen: Vec<(&PortRef, CableEndSignal)> = neighbours
        .filter_map(|end| {
            let (node, cage) = cluster.find(end)?;
            Some((end, light(node, cage)))
        })
        .filter(|(_, light)| *light != CableEndSignal::Unknown)
        .collect();
    let dark = seen.iter().all(|(_, light)| *light == CableEndSignal::Dark);
    if seen.is_empty() || !dark {
        return None;
    }
    let hit = CheckHit::fault(&unread.host)
        .at(FindingSite::node(&unread.host))
        .saw(
            "examination",
            &unread.error,
            "the attempt to reach the node",
        );
    Some(seen.iter().fold(hit, |hit, (end, _)| {
        hit.saw(
            format!("signal at {end}"),
            "none",
            format!("carrier on {}", end.node),
        )
    }))
}

fn other_end<'a>(cable: &'a Cable, node: &str) -> Option<&'a PortRef> {
    let Cable::Direct { a, b, number: _ } = cable else {
        return None;
    };
    match (a.node == node, b.node == node) {
        (true, false) => Some(b),
        (false, true) => Some(a),
        _ => None,
    }
}
