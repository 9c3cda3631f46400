//! Two nodes hold the same fabric address.

use std::{collections::BTreeMap, net::IpAddr};

use crate::{
    CauseScope, Check, CheckFunctions, CheckHit, ExaminedCluster, FindingSite, explains,
    terms::{address_source, roce},
};

pub(super) const CHECK: Check = Check {
    id: "address-duplicate",
    title: "Two nodes hold the same fabric address",
    severity: "fault",
    fires: "The same IPv4 or global IPv6 address is on RoCE fabric ports of two nodes.",
    reads: &["ip addr show"],
    cause: "an address was copied from one node to another, or the node is a clone",
    meaning: "Peers learn the MAC address of whichever node answered last. Connections reach the one or the other, and \
        break when the answer changes.",
    fix: "Give each node an address of its own, and write it down.",
    verify: "`arping -D -I IF ADDRESS` on each node gets no answer.",
    explained_by: &[explains("node-cloned", CauseScope::EveryNode)],
    run: CheckFunctions::cluster(run),
};

fn run(cluster: &ExaminedCluster) -> Vec<CheckHit> {
    let mut holders: BTreeMap<IpAddr, Vec<(usize, &str, FindingSite)>> = BTreeMap::new();
    for (index, node) in cluster.nodes.iter().enumerate() {
        for port in roce(node) {
            for (netdev, address) in port.lasting_addresses() {
                let list = holders.entry(address.net.addr()).or_default();
                if list.iter().all(|(holder, ..)| *holder != index) {
                    list.push((index, &netdev.name, node.site(port)));
                }
            }
        }
    }
    holders
        .into_iter()
        .filter(|(_, holders)| holders.len() > 1)
        .map(|(address, holders)| {
            let hit = CheckHit::fault(address);
            holders
                .into_iter()
                .fold(hit, |hit, (node, interface, site)| {
                    let node = cluster.nodes[node].name;
                    hit.at(site).saw(
                        "held by",
                        format!("{interface} on {node}"),
                        address_source(interface),
                    )
                })
        })
        .collect()
}
