//! Interfaces on one wire answer ARP for each other's addresses.

use std::collections::HashMap;

use crosstie_model::{Cable, Facts};
use ipnet::IpNet;

use crate::{
    Check, CheckFunctions, CheckHit, ExaminedNode, ExaminedPort,
    subnet_overlaps::SubnetOverlaps,
    terms::{effective, has_ipv4, listed, roce, sysctl},
};

pub(super) const CHECK: Check = Check {
    id: "arp-flux",
    title: "Interfaces on one wire answer ARP for each other's addresses",
    severity: "warning",
    fires: "Two or more RoCE fabric ports with IPv4 addresses hear the same frames (twins of one cage always do) while \
        `arp_ignore` is 0, and neither `arp_filter` nor a strict `rp_filter` stands in for it.",
    reads: &[
        "net.ipv4.conf.{all,IF}.arp_ignore",
        "net.ipv4.conf.{all,IF}.arp_filter",
        "net.ipv4.conf.{all,IF}.rp_filter",
        "ip addr show",
    ],
    cause: "Linux answers ARP for any of its addresses on any of its interfaces unless it is told not to",
    meaning: "The twins of a cage hear every frame on its cable. When a peer asks who has an address, both answer, and \
        the peer keeps the answer that came last: sometimes the other twin's MAC address. Ping still passes, since the \
        kernel does not care which interface a packet came in by. RDMA frames reach the wrong function and are \
        dropped: connections time out now and then, and work again a minute later.",
    fix: "Let each interface answer for its own addresses only, and write that down in a file under `/etc/sysctl.d`.",
    verify: "`sysctl net.ipv4.conf.all.arp_ignore` says 1; on the peer, `ip neigh flush dev IF` and a ping bring back \
        the right MAC address each time.",
    explained_by: &[],
    run: CheckFunctions::node(run),
};

fn run(node: &ExaminedNode) -> Vec<CheckHit> {
    let mut groups: Vec<Vec<&ExaminedPort>> = Vec::new();
    let mut wires = Wires::default();
    for port in roce(node).filter(|port| port.netdev.is_some() && has_ipv4(port)) {
        let group = wires.group_of(node, port).unwrap_or(groups.len());
        wires.add(node, port, group);
        match groups.get_mut(group) {
            Some(group) => group.push(port),
            None => groups.push(vec![port]),
        }
    }
    groups
        .into_iter()
        .filter_map(|group| {
            let mut names: Vec<&str> = group.iter().map(|port| port.label()).collect();
            names.sort_unstable();
            names.dedup();
            (names.len() > 1).then(|| hit(node.facts, &names, &group))?
        })
        .collect()
}

fn hit(facts: &Facts, names: &[&str], group: &[&ExaminedPort]) -> Option<CheckHit> {
    let mut subnets = SubnetOverlaps::default();
    for (place, port) in group.iter().enumerate() {
        ipv4_subnets(port).for_each(|net| subnets.insert(net, place));
    }
    let apart = |port: &ExaminedPort| {
        let mut others = ipv4_subnets(port).flat_map(|net| subnets.of(&net));
        !others.any(|other| group[other].label() != port.label())
    };
    let answers_for_others = |port: &&&ExaminedPort| {
        let value = |setting| effective(facts, setting, port.label());
        value("arp_ignore") == Some(0)
            && value("arp_filter").unwrap_or(0) == 0
            // A strict filter drops requests that come in by another way than the answer would take.
            && !(value("rp_filter") == Some(1) && apart(port))
    };
    let open: Vec<&&ExaminedPort> = group.iter().filter(answers_for_others).collect();
    if open.is_empty() {
        return None;
    }
    let mut hit = CheckHit::warning(listed(names));
    for name in std::iter::once("all").chain(open.iter().map(|port| port.label())) {
        let key = sysctl("arp_ignore", name);
        if let Some(value) = facts.sysctls.get(&key) {
            hit = hit.saw(
                &key,
                value,
                format!("/proc/sys/net/ipv4/conf/{name}/arp_ignore"),
            );
        }
    }
    let file = format!("{}/90-fabric-arp.conf", facts.distribution().folders.sysctl);
    let lines = r"net.ipv4.conf.all.arp_ignore = 1\nnet.ipv4.conf.all.arp_announce = 2\n";
    Some(
        hit.command(format!("printf '{lines}' | sudo tee {file}"))
            .command(format!("sudo sysctl -p {file}")),
    )
}

/// The first group of ports on each wire. Twins share a cage; other ports may share a switch plane, or a subnet, which is
/// meant to be one wire.
#[derive(Default)]
struct Wires<'a> {
    cages: HashMap<usize, usize>,
    planes: HashMap<&'a str, usize>,
    subnets: SubnetOverlaps,
}

impl<'a> Wires<'a> {
    fn group_of(&self, node: &ExaminedNode<'a>, port: &ExaminedPort) -> Option<usize> {
        let by_cage = self.cages.get(&port.cage).copied();
        let by_plane = plane(node, port).and_then(|plane| self.planes.get(plane).copied());
        let by_subnet = ipv4_subnets(port)
            .flat_map(|net| self.subnets.of(&net))
            .min();
        [by_cage, by_plane, by_subnet].into_iter().flatten().min()
    }

    fn add(&mut self, node: &ExaminedNode<'a>, port: &ExaminedPort, group: usize) {
        let first = |found: &mut usize| *found = group.min(*found);
        self.cages
            .entry(port.cage)
            .and_modify(first)
            .or_insert(group);
        if let Some(plane) = plane(node, port) {
            self.planes.entry(plane).and_modify(first).or_insert(group);
        }
        for net in ipv4_subnets(port) {
            self.subnets.insert(net, group);
        }
    }
}

fn plane<'a>(node: &ExaminedNode<'a>, port: &ExaminedPort) -> Option<&'a str> {
    let cage = &node.cages.get(port.cage)?.id;
    let mut cables = node.spec?.cables.iter();
    cables.find_map(|cable| match cable {
        Cable::Switched { port, plane } if port.node == node.name && port.cage == *cage => {
            Some(plane.as_str())
        }
        _ => None,
    })
}

fn ipv4_subnets(port: &ExaminedPort) -> impl Iterator<Item = IpNet> {
    let addresses = port.lasting_addresses().into_iter();
    addresses
        .map(|(_, address)| address.net)
        .filter(|net| net.addr().is_ipv4())
}
