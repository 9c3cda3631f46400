//! Ports that reach each other: those with addresses in one subnet, and InfiniBand ports by their place.

use std::collections::{BTreeSet, HashSet};

use crosstie_fabric::{
    cages,
    rails::{AttachedPort, RailEnd, attached},
};
use crosstie_model::{ClusterSpec, Facts, run::MeasuredEnd};
use ipnet::IpNet;

use crate::record::cable_of;

/// A port of a node, by its place in the list.
struct Member {
    node: usize,
    end: RailEnd,
}

/// What makes ports reach each other.
#[derive(PartialEq, Eq)]
enum Joined {
    Subnet(IpNet),
    /// Nothing tells which InfiniBand ports share a switch: the first of each node, the second, and so on.
    InfiniBand(usize),
}

/// In the order of the first node's ports. A port is in one group; one that reaches nobody is in none. `is_wanted` says
/// which ports may be measured.
pub fn groups(
    nodes: &[Facts],
    spec: Option<&ClusterSpec>,
    is_wanted: &dyn Fn(&Facts, &RailEnd) -> bool,
) -> Vec<Vec<MeasuredEnd>> {
    let joined = joined(nodes, is_wanted);
    let hosts: Vec<BTreeSet<usize>> = joined.iter().map(|group| hosts(group)).collect();
    let mut rails: Vec<u32> = Vec::new();
    for (index, own) in hosts.iter().enumerate() {
        // Two ways between the same two nodes have different numbers.
        let taken: HashSet<u32> = (0..index)
            .filter(|other| hosts[*other].intersection(own).count() > 1)
            .map(|other| rails[other])
            .collect();
        // One more than there are numbers taken: one of them is free.
        let numbers = 0..=u32::try_from(taken.len()).unwrap_or(u32::MAX);
        let free = numbers.into_iter().find(|rail| !taken.contains(rail));
        rails.push(free.unwrap_or_default());
    }
    let groups = joined.into_iter().zip(rails);
    groups
        .map(|(group, rail)| {
            let ends = group.into_iter();
            ends.map(|member| measured_end(&nodes[member.node], spec, member.end, rail))
                .collect()
        })
        .collect()
}

fn joined(nodes: &[Facts], is_wanted: &dyn Fn(&Facts, &RailEnd) -> bool) -> Vec<Vec<Member>> {
    let mut groups: Vec<(Joined, Vec<Member>)> = Vec::new();
    for (node, facts) in nodes.iter().enumerate() {
        let mut infiniband = 0;
        for AttachedPort { end, subnet } in attached(facts) {
            if !is_wanted(facts, &end) {
                continue;
            }
            let by = subnet.map_or_else(
                || {
                    infiniband += 1;
                    Joined::InfiniBand(infiniband - 1)
                },
                Joined::Subnet,
            );
            let member = Member { node, end };
            match groups.iter_mut().find(|(joined, _)| *joined == by) {
                Some((_, group)) => group.push(member),
                None => groups.push((by, vec![member])),
            }
        }
    }
    // A port with several addresses counts where it reaches somebody first.
    let mut seen: HashSet<(usize, String, u32)> = HashSet::new();
    let mut kept = Vec::new();
    for (_, mut group) in groups {
        if hosts(&group).len() < 2 {
            continue;
        }
        group.retain(|one| !seen.contains(&(one.node, one.end.device.clone(), one.end.port)));
        if hosts(&group).len() < 2 {
            continue;
        }
        let ports = group.iter();
        seen.extend(ports.map(|one| (one.node, one.end.device.clone(), one.end.port)));
        kept.push(group);
    }
    kept
}

fn hosts(group: &[Member]) -> BTreeSet<usize> {
    group.iter().map(|member| member.node).collect()
}

fn measured_end(facts: &Facts, spec: Option<&ClusterSpec>, end: RailEnd, rail: u32) -> MeasuredEnd {
    let host = facts.host.name.clone();
    let cages = cages(facts, spec);
    let cage = cages.iter().find(|cage| {
        let mut members = cage.members.iter();
        members.any(|member| member.device == end.device && member.port == end.port)
    });
    let cable = spec
        .zip(cage)
        .and_then(|(spec, cage)| cable_of(&spec.cables, &host, &cage.id));
    MeasuredEnd {
        host,
        device: Some(end.device),
        interface: end.interface,
        address: end.address,
        rail,
        cable,
    }
}
