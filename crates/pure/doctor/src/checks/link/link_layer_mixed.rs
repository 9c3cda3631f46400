//! Some nodes speak InfiniBand and others Ethernet.

use crosstie_model::facts::rdma::LinkLayer;

use crate::{Check, CheckFunctions, CheckHit, ExaminedCluster, ExaminedNode, ExaminedPort, word};

pub(super) const CHECK: Check = Check {
    id: "link-layer-mixed",
    title: "Some fabric ports are InfiniBand and others Ethernet",
    severity: "fault",
    fires: "The ports that the cluster file names do not all have the same link layer; without a cluster file: there are two \
        nodes whose fabric ports have no link layer in common.",
    reads: &["/sys/class/infiniband/DEVICE/ports/PORT/link_layer"],
    cause: "VPI cards leave the factory as InfiniBand or as Ethernet, and this is a setting of each card",
    meaning: "A ConnectX VPI port speaks either InfiniBand or Ethernet (RoCE). Two ends that differ never get a link, and \
        through a switch only one kind works.",
    fix: "Set the odd ports to the type of the others and restart their nodes: 2 is Ethernet, 1 is InfiniBand. \
        `mlxconfig` comes with NVIDIA's MFT, `mstconfig` with the package `mstflint`.",
    verify: "`link_layer` shows the same word for all fabric ports.",
    explained_by: &[],
    run: CheckFunctions::cluster(run),
};

type Port<'a> = (&'a ExaminedNode<'a>, &'a ExaminedPort<'a>, &'a LinkLayer);

fn run(cluster: &ExaminedCluster) -> Vec<CheckHit> {
    let ports: Vec<Port> = cluster
        .nodes
        .iter()
        .flat_map(|node| node.fabric.iter().map(move |port| (node, port)))
        .filter_map(|(node, port)| Some((node, port, port.port.link_layer.known()?)))
        .collect();
    let named = ports.iter().any(|(_, port, _)| port.named);
    let ports: Vec<Port> = ports
        .into_iter()
        .filter(|(_, port, _)| port.named || !named)
        .collect();
    let of = |layer: &LinkLayer| -> Vec<Port> {
        let same = ports.iter().filter(|(_, _, found)| *found == layer);
        same.copied().collect()
    };
    let (ethernet, infiniband) = (of(&LinkLayer::Ethernet), of(&LinkLayer::InfiniBand));
    let apart = if named {
        !ethernet.is_empty() && !infiniband.is_empty()
    } else {
        only(&ethernet, &infiniband) && only(&infiniband, &ethernet)
    };
    if !apart {
        return Vec::new();
    }
    let (few, wanted) = if infiniband.len() <= ethernet.len() {
        (infiniband, 2)
    } else {
        (ethernet, 1)
    };
    vec![hit(&few, &ports, wanted)]
}

/// Some node has ports of the first kind and none of the second: a node that has both is at home with either.
fn only(these: &[Port], others: &[Port]) -> bool {
    these
        .iter()
        .any(|(node, _, _)| others.iter().all(|(other, _, _)| node.name != other.name))
}

/// A cluster may have hundreds of ports; a few of each kind show the matter.
const MAX_NAMED: usize = 4;

fn hit(few: &[Port], all: &[Port], wanted: u8) -> CheckHit {
    let subject: Vec<String> = few
        .iter()
        .map(|(node, port, _)| format!("{}:{}", node.name, port.label()))
        .collect();
    let others = all.iter().filter(|(_, _, layer)| few[0].2 != *layer);
    let shown = few.iter().take(MAX_NAMED).chain(others.take(MAX_NAMED));
    let hit = shown.fold(
        CheckHit::fault(subject.join(", ")),
        |hit, (node, port, layer)| {
            let what = format!("link layer of {} on {}", port.device.name, node.name);
            hit.saw(what, layer, port.file("link_layer"))
        },
    );
    let mut commands: Vec<String> = few
        .iter()
        .filter_map(|(_, port, _)| {
            let address = port.device.pci.known()?.to_string();
            let port = port.port.number;
            Some(format!(
                "sudo mlxconfig -d {} set LINK_TYPE_P{port}={wanted}",
                word(&address)
            ))
        })
        .collect();
    commands.sort_unstable();
    commands.dedup();
    commands.into_iter().fold(hit, CheckHit::command)
}
