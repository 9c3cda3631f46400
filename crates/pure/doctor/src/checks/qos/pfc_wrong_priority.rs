//! Nodes make different priorities lossless.

use crosstie_model::facts::net::Interface;

use super::{priorities, switched};
use crate::{CauseScope, Check, CheckFunctions, CheckHit, ExaminedCluster, explains, word};

pub(super) const CHECK: Check = Check {
    id: "pfc-wrong-priority",
    title: "Nodes have priority flow control on different priorities",
    severity: "fault",
    fires: "A RoCE fabric port on a switch has priority flow control on, but not on the cluster file's priority; without \
        a cluster file, the ports of the nodes have no such priority in common.",
    reads: &["dcb pfc show dev IF"],
    cause: "the nodes were configured by different guides, or the cluster file has another priority than the nodes",
    meaning: "Flow control works for a priority only where both ends of every link agree on it. A node that pauses \
        another priority gets no relief, and its RDMA traffic is dropped under load as if there were none.",
    fix: "Turn it on for one priority, the same on all nodes and switch ports, and off for the others.",
    verify: "`dcb pfc show dev IF` lists the same priority as on for all nodes.",
    explained_by: &[explains("pfc-off", CauseScope::Cage)],
    run: CheckFunctions::cluster(run),
};

type Port<'a> = (&'a str, &'a Interface, &'a [u8]);

fn run(cluster: &ExaminedCluster) -> Vec<CheckHit> {
    let ports: Vec<Port> = cluster
        .nodes
        .iter()
        .flat_map(|node| {
            let ports = switched(node).filter_map(|(_, netdev)| {
                let on = netdev.qos.pfc.known().filter(|on| !on.is_empty())?;
                Some((node.name, netdev, on.as_slice()))
            });
            ports.collect::<Vec<_>>()
        })
        .collect();
    let wanted = cluster.spec.and_then(|spec| spec.qos.as_ref());
    let (wanted, source) = match wanted {
        Some(qos) => (qos.priority, "cluster file"),
        None => match most_common(&ports) {
            Some(priority) => (priority, "what most ports have"),
            None => return Vec::new(),
        },
    };
    ports
        .into_iter()
        .filter(|(_, _, on)| !on.contains(&wanted))
        .map(|(node, netdev, on)| {
            let name = word(&netdev.name);
            let off: Vec<String> = on.iter().map(|own| format!("{own}:off")).collect();
            let off = off.join(" ");
            CheckHit::fault(format!("{node}:{}", netdev.name))
                .saw(
                    "priorities with flow control",
                    priorities(on),
                    format!("dcb pfc show dev {name}"),
                )
                .saw("priority that it should be", wanted, source)
                .command(format!(
                    "sudo dcb pfc set dev {name} prio-pfc {off} {wanted}:on"
                ))
        })
        .collect()
}

/// The priority that most ports have on; the lowest of several.
fn most_common(ports: &[Port]) -> Option<u8> {
    let votes = |priority: u8| {
        ports
            .iter()
            .filter(|(_, _, on)| on.contains(&priority))
            .count()
    };
    (0..8u8)
        .max_by_key(|priority| (votes(*priority), std::cmp::Reverse(*priority)))
        .filter(|priority| votes(*priority) > 0)
}
