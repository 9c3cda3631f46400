//! The two ends of a path use different RoCE packet sizes.

use crosstie_fabric::wire::roce_path_mtu;
use crosstie_model::Mtu;

use crate::{
    CagePair, CauseScope, Check, CheckFunctions, CheckHit, ExaminedPort, explains,
    terms::{netdev_file, overlap},
};

pub(super) const CHECK: Check = Check {
    id: "mtu-mismatch",
    title: "The two ends of a cable, or two nodes of a subnet, have MTUs that do not fit",
    severity: "warning (fault when a full-size probe fails)",
    fires: "The MTUs of two ports that are joined by a cable, or share a subnet, differ so far that the RoCE packet \
        size differs.",
    reads: &["/sys/class/net/IF/mtu"],
    cause: "the MTU was changed on one end only",
    meaning: "Queue pairs agree on the smaller of the two ends' packet sizes, so RDMA still works, with smaller packets. \
        TCP has no such agreement on one link: large frames towards the end with the smaller MTU are dropped in \
        silence, small ones pass, and connections stall after the first kilobytes. A smaller MTU in between, on a \
        switch port, kills RDMA the same way: small tests pass and collectives die with retry errors.",
    fix: "Set the same MTU on both ends, and on every switch port in between.",
    verify: "`ping -M do -s 8972 PEER` (MTU 9000) gets its answers in both directions.",
    explained_by: &[
        explains("mtu-small", CauseScope::Cable),
        explains("mtu-large", CauseScope::Cable),
        explains("twin-mtu-differs", CauseScope::Cable),
        explains("twin-down", CauseScope::Cable),
        explains("cable-dead", CauseScope::Cable),
        explains("fabric-port-down", CauseScope::Cable),
    ],
    run: CheckFunctions::pair(run),
};

type Side<'a> = (&'a ExaminedPort<'a>, Mtu, Option<Mtu>);

fn run(pair: &CagePair) -> Vec<CheckHit> {
    let side = |port| {
        let port: &ExaminedPort = port;
        let mtu = *port.netdev?.mtu.known()?;
        port.is_roce().then(|| (port, mtu, roce_path_mtu(mtu)))
    };
    let a: Vec<Side> = pair.a.ports().filter_map(side).collect();
    let b: Vec<Side> = pair.b.ports().filter_map(side).collect();
    let facing: Vec<(&Side, &Side)> = a
        .iter()
        .flat_map(|a| b.iter().map(move |b| (a, b)))
        .filter(|(a, b)| share_subnet(a.0, b.0))
        .collect();
    let different = if facing.is_empty() && pair.is_cable() {
        // No addresses to pair twins by: the smallest of either end.
        let smallest = |side: &'_ [Side<'_>]| side.iter().map(|(_, mtu, _)| *mtu).min();
        let of =
            |side: &'_ [Side<'_>], mtu| side.iter().position(|(_, found, _)| Some(*found) == mtu);
        let ends = (of(&a, smallest(&a)), of(&b, smallest(&b)));
        let ends = ends.0.zip(ends.1).map(|(own, other)| (&a[own], &b[other]));
        ends.into_iter().filter(|(a, b)| a.2 != b.2).collect()
    } else {
        let mut different = facing;
        different.retain(|(a, b)| a.2 != b.2);
        different
    };
    if different.is_empty() {
        return Vec::new();
    }
    let mut hit = CheckHit::warning(pair.label());
    for (a, b) in different {
        for (node, (port, mtu, _)) in [(pair.a.node.name, a), (pair.b.node.name, b)] {
            let name = port.label();
            hit = hit.saw(
                format!("MTU of {name} on {node}"),
                mtu,
                netdev_file(name, "mtu"),
            );
        }
    }
    vec![hit]
}

fn share_subnet(a: &ExaminedPort, b: &ExaminedPort) -> bool {
    let theirs = b.lasting_addresses();
    a.lasting_addresses().iter().any(|(_, own)| {
        let mut theirs = theirs.iter();
        theirs.any(|(_, other)| overlap(&own.net, &other.net))
    })
}
