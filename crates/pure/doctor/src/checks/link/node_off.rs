//! A node does not answer, and its cables are dark.

use crosstie_model::{Cable, PortRef};

use super::cable_dead::{Light, light};
use crate::{Check, Cluster, Hit, Run, Site, Unread};

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
    run: Run::cluster(run),
};

fn run(cluster: &Cluster) -> Vec<Hit> {
    let unread = cluster.unread.iter();
    unread.filter_map(|unread| hit(cluster, unread)).collect()
}

fn hit(cluster: &Cluster, unread: &Unread) -> Option<Hit> {
    let spec = cluster.spec?;
    spec.node(&unread.host)?;
    let neighbours = spec
        .cables
        .iter()
        .filter_map(|cable| other_end(cable, &unread.host));
    let seen: Vec<(&PortRef, Light)> = neighbours
        .filter_map(|end| {
            let (node, cage) = cluster.find(end)?;
            Some((end, light(node, cage)))
        })
        .filter(|(_, light)| *light != Light::Unknown)
        .collect();
    let dark = seen.iter().all(|(_, light)| *light == Light::Dark);
    if seen.is_empty() || !dark {
        return None;
    }
    let hit = Hit::fault(&unread.host).at(Site::node(&unread.host)).saw(
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
