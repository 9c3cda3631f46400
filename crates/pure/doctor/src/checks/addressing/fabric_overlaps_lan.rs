//! A fabric subnet is also in use on another interface.

use crosstie_model::facts::net::{Interface, InterfaceAddress};

use crate::{
    Check, CheckFunctions, CheckHit, ExaminedNode, is_link_local,
    subnet_overlaps::SubnetOverlaps,
    terms::{address_source, dedicated, fabric_names, is_single, share_routes},
};

pub(super) const CHECK: Check = Check {
    id: "fabric-overlaps-lan",
    title: "A fabric subnet overlaps a subnet of another interface",
    severity: "fault",
    fires: "A subnet of a RoCE fabric port overlaps one of an interface that is not part of the fabric: the LAN, Wi-Fi, or \
        a bridge of Docker's or libvirt's.",
    reads: &["ip addr show"],
    cause: "the fabric was given a subnet that another network of this node already uses, often 192.168.0.0/24 or \
        192.168.1.0/24",
    meaning: "The kernel sends to a subnet through one interface only. Where two interfaces claim the same addresses, \
        either the fabric's traffic goes out over the LAN, at a fraction of the speed, or the LAN's goes into the \
        fabric and the node can no longer be reached.",
    fix: "Choose a subnet for the fabric that no other interface of any node uses.",
    verify: "`ip route get PEER` names the fabric interface for each of the peers' fabric addresses.",
    explained_by: &[],
    run: CheckFunctions::node(run),
};

fn run(node: &ExaminedNode) -> Vec<CheckHit> {
    let fabric = fabric_names(node);
    let others: Vec<(&Interface, &InterfaceAddress)> = node
        .facts
        .network
        .interfaces
        .iter()
        .filter(|interface| interface.name != "lo" && !fabric.contains(interface.name.as_str()))
        .filter(|interface| interface.up.known() != Some(&false))
        .flat_map(|interface| interface.addresses.iter().map(move |own| (interface, own)))
        .filter(|(_, address)| is_subnet(address))
        .collect();
    let overlaps = SubnetOverlaps::new(others.iter().map(|(_, address)| address.net));
    let mut hits = Vec::new();
    for (netdev, address) in dedicated(node).flat_map(crate::ExaminedPort::lasting_addresses) {
        if !is_subnet(address) || hits.len() >= MAX_HITS {
            continue;
        }
        let clashing = overlaps.of(&address.net).into_iter();
        let clashing = clashing.map(|place| others[place]);
        let clashing = clashing.filter(|(other, _)| share_routes(node.facts, netdev, other));
        hits.extend(clashing.take(MAX_HITS).map(|(other, lan)| {
            CheckHit::fault(format!("{} and {}", netdev.name, other.name))
                .saw("fabric address", address.net, address_source(&netdev.name))
                .saw("other address", lan.net, address_source(&other.name))
        }));
    }
    hits
}

/// Every pair is a finding, and a made-up node has millions of them.
const MAX_HITS: usize = 1000;

/// Of a lasting kind, and wide enough to send others' traffic astray. IPv6 subnets that a router announces are left
/// alone: where the fabric hangs on the LAN's switch, both learn the same one.
fn is_subnet(address: &InterfaceAddress) -> bool {
    !is_link_local(address.net.addr())
        && !is_single(&address.net)
        && (address.net.addr().is_ipv4() || !address.dynamic)
}
