//! A node has learned the wrong MAC address for a peer's fabric address.

use std::{collections::BTreeMap, net::IpAddr};

use crosstie_grade::FaultKind;
use crosstie_model::{
    HardwareAddress,
    facts::net::{Interface, NeighbourEntry},
};

use crate::{
    CauseScope, Check, CheckFunctions, CheckHit, ExaminedCluster, ExaminedNode, ExaminedPort,
    FindingSite, RunWithFaults, explains, terms::fabric_names, word,
};

pub(super) const CHECK: Check = Check {
    id: "wrong-neighbour",
    title: "A node has learned the wrong MAC address for a peer's fabric address",
    severity: "fault",
    fires: "A node's neighbour entry for an address of a peer's fabric port is not the MAC address of the interface that \
        holds it.",
    reads: &["ip neigh show", "ip addr show (on the peer)"],
    cause: "the peer's other twin answered ARP for the address (see arp-flux), or the entry is left from a card that \
        was replaced",
    meaning: "RDMA frames are sent to the MAC address that the kernel learned. A card's function drops frames for an \
        address that it does not hold, so queue pairs time out, while ping passes: the peer's kernel takes packets on \
        any interface.",
    fix: "On the peer, let each interface answer ARP for its own addresses only (`arp_ignore` = 1, `arp_announce` = 2); \
        then forget the entry here.",
    verify: "After a ping, `ip neigh show ADDRESS` has the MAC address that `ip link show` has on the peer.",
    explained_by: &[
        explains("address-duplicate", CauseScope::Cage),
        explains("twins-same-subnet", CauseScope::Cage),
        explains("arp-flux", CauseScope::Cage),
        explains("node-cloned", CauseScope::Node),
    ],
    run: CheckFunctions::stored(measured).and_cluster(run),
};

type Holder<'a> = (
    &'a ExaminedNode<'a>,
    &'a ExaminedPort<'a>,
    &'a Interface,
    &'a HardwareAddress,
);

fn run(cluster: &ExaminedCluster) -> Vec<CheckHit> {
    let mut holders: BTreeMap<IpAddr, Vec<Holder>> = BTreeMap::new();
    for node in &cluster.nodes {
        for port in node.fabric.iter().filter(|port| port.is_roce()) {
            for (netdev, address) in port.lasting_addresses() {
                if let Some(mac) = netdev.mac.known() {
                    let list = holders.entry(address.net.addr()).or_default();
                    list.push((node, port, netdev, mac));
                }
            }
        }
    }
    cluster
        .nodes
        .iter()
        .flat_map(|node| of_node(node, &holders))
        .collect()
}

fn of_node(node: &ExaminedNode, holders: &BTreeMap<IpAddr, Vec<Holder>>) -> Vec<CheckHit> {
    let own = fabric_names(node);
    let entries = node.facts.network.neighbours.known().into_iter().flatten();
    entries
        .filter(|entry| {
            let name = entry.interface.as_deref();
            name.is_none_or(|name| own.contains(name))
        })
        .filter_map(|entry| {
            let learned = entry.mac.as_ref()?;
            let holders = holders.get(&entry.address)?;
            // An address of our own, or one that two nodes hold, says nothing here.
            let right = |(holder, _, _, mac): &Holder| holder.name == node.name || *mac == learned;
            if holders.iter().any(right) {
                return None;
            }
            let (peer, port, netdev, mac) = holders.first()?;
            is_in_use(entry, peer, learned).then(|| {
                let device = entry.interface.as_deref().unwrap_or("?");
                CheckHit::fault(format!("{} → {}", node.name, entry.address))
                    .at(peer.site(port))
                    .at(FindingSite::node(node.name))
                    .saw(
                        format!("MAC address that {} learned", node.name),
                        learned,
                        format!("ip neigh show {} on {}", entry.address, word(node.name)),
                    )
                    .saw(
                        format!("MAC address of {} on {}", netdev.name, peer.name),
                        mac,
                        format!(
                            "ip link show dev {} on {}",
                            word(&netdev.name),
                            word(peer.name)
                        ),
                    )
                    .command(format!(
                        "sudo ip neigh flush {} dev {}",
                        entry.address,
                        word(device)
                    ))
            })
        })
        .collect()
}

/// An entry that nobody has used for a while may just be old, unless it names another interface of the same peer:
/// nothing but that peer's answer puts it there.
fn is_in_use(entry: &NeighbourEntry, peer: &ExaminedNode, learned: &HardwareAddress) -> bool {
    let state = |states: &[&str]| {
        entry
            .state
            .iter()
            .any(|state| states.contains(&state.as_str()))
    };
    let mut interfaces = peer.facts.network.interfaces.iter();
    !state(&["FAILED", "INCOMPLETE", "NOARP"])
        && (state(&["REACHABLE", "DELAY", "PROBE", "PERMANENT"])
            || interfaces.any(|interface| interface.mac.known() == Some(learned)))
}

fn measured(run: &RunWithFaults) -> Vec<CheckHit> {
    run.hits(FaultKind::WrongNeighbour)
}
