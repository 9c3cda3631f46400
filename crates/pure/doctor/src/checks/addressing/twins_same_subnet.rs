//! Two fabric interfaces of one node have addresses in one subnet.

use std::{cmp::Ordering, collections::BTreeMap};

use crosstie_model::{
    Facts, Severity,
    facts::net::{Interface, InterfaceAddress, RoutingRule},
};

use crate::{
    Check, CheckFunctions, CheckHit, ExaminedNode,
    terms::{address_source, effective, listed, overlap, roce, sysctl, vrf_of},
};

pub(super) const CHECK: Check = Check {
    id: "twins-same-subnet",
    title: "Two fabric interfaces of one node hold addresses in the same subnet",
    severity: "fault (info where source rules and ARP settings handle it)",
    fires: "Two fabric interfaces of a node hold addresses in overlapping subnets. Link-local addresses do not count.",
    reads: &[
        "ip addr show",
        "ip rule show",
        "ip route show table all",
        "net.ipv4.conf.{all,IF}.arp_ignore",
        "net.ipv4.conf.{all,IF}.arp_filter",
    ],
    cause: "both twins were given addresses from one subnet, as if they were one interface",
    meaning: "A node sends to a subnet through one interface: the route that comes first wins, and the other twin's \
        address is answered, sent from and learned by peers through the wrong function. Ping passes, since the kernel \
        takes packets for any of its addresses on any interface. RDMA does not: the card drops frames that reach the \
        function which does not hold the address. Queue pairs time out, or half the bandwidth is missing.\n\n\
        It can be made to work with a routing table for each address and `arp_ignore`; one subnet a twin is simpler and \
        is what every guide for DGX Spark does.",
    fix: "Give each twin a subnet of its own, the same pair of subnets on the peer, and write it down.",
    verify: "`ip route get PEER` names the twin whose subnet the peer's address is in, for each of the peer's addresses.",
    explained_by: &[],
    run: CheckFunctions::node(run),
};

/// Of one subnet.
const MAX_SHOWN: usize = 32;

type Held<'a> = (&'a Interface, &'a InterfaceAddress);

fn run(node: &ExaminedNode) -> Vec<CheckHit> {
    groups(node)
        .into_iter()
        .map(|group| {
            let severity = if is_handled(node.facts, &group) {
                Severity::Info
            } else {
                Severity::Fault
            };
            let mut names: Vec<&str> = group.iter().map(|(netdev, _)| netdev.name.as_str()).collect();
            names.dedup();
            let mut hit = CheckHit::new(severity, listed(&names));
            for (netdev, address) in group.iter().take(MAX_SHOWN) {
                let what = format!("address of {}", netdev.name);
                hit = hit.saw(what, address.net, address_source(&netdev.name));
            }
            if let Some(more) = group.len().checked_sub(MAX_SHOWN).filter(|more| *more > 0) {
                hit = hit.saw("more addresses in it", more, "ip addr show");
            }
            if severity == Severity::Info {
                hit = hit
                    .cause("both twins have addresses in one subnet, and source rules and ARP settings keep them apart")
                    .advice("Nothing has to be done. One subnet a twin would need neither the rules nor the settings.");
            }
            hit
        })
        .collect()
}

/// Addresses of two or more interfaces that lie in one subnet.
fn groups<'a>(node: &ExaminedNode<'a>) -> Vec<Vec<Held<'a>>> {
    let mut held: Vec<Held> = roce(node)
        .flat_map(crate::ExaminedPort::lasting_addresses)
        .collect();
    // Where a router announces a prefix on a flat network, both twins make themselves an IPv6 address in it.
    held.retain(|(_, address)| address.net.addr().is_ipv4() || !address.dynamic);
    held.sort_by(order);
    held.dedup_by(|a, b| a.0.name == b.0.name && a.1.net == b.1.net);
    let mut by_routes: BTreeMap<Option<&str>, Vec<Held>> = BTreeMap::new();
    for entry in held {
        let vrf = vrf_of(node.facts, entry.0);
        by_routes.entry(vrf).or_default().push(entry);
    }
    let mut groups: Vec<Vec<Held>> = by_routes.into_values().flat_map(by_subnet).collect();
    groups.retain(|group| {
        group
            .iter()
            .any(|(netdev, _)| netdev.name != group[0].0.name)
    });
    groups.sort_by(|a, b| order(&a[0], &b[0]));
    groups
}

fn order(a: &Held, b: &Held) -> Ordering {
    (&a.0.name, a.1.net).cmp(&(&b.0.name, b.1.net))
}

/// Two subnets are one in the other, or apart: in the order of where they begin, the widest first, each that is not in the last
/// group's first begins a group.
fn by_subnet(mut held: Vec<Held>) -> Vec<Vec<Held>> {
    held.sort_by_key(|(_, address)| (address.net.network(), address.net.prefix_len()));
    let mut groups: Vec<Vec<Held>> = Vec::new();
    for entry in held {
        match groups.last_mut() {
            Some(group) if overlap(&group[0].1.net, &entry.1.net) => group.push(entry),
            _ => groups.push(vec![entry]),
        }
    }
    for group in &mut groups {
        group.sort_by(order);
    }
    groups
}

/// Each address has a rule that sends what comes from it to a table of its own, and no interface answers ARP for
/// another's address. Rules that were not read are not there; ARP settings that were not read may be.
fn is_handled(facts: &Facts, group: &[Held]) -> bool {
    // Nobody writes a rule for each of so many.
    if group.len() > MAX_SHOWN {
        return false;
    }
    let mut tables: Vec<(&str, &str)> = Vec::new();
    for (netdev, address) in group {
        let Some(rule) = source_rule(facts, address) else {
            return false;
        };
        let mut routes = facts.network.routes.known().into_iter().flatten();
        let leads_there = routes.any(|route| {
            route.table == rule.table && route.interface.as_deref() == Some(&netdev.name)
        });
        let taken = tables
            .iter()
            .any(|(table, name)| *table == rule.table && *name != netdev.name);
        if taken || !(leads_there || facts.network.routes.known().is_none()) {
            return false;
        }
        tables.push((&rule.table, &netdev.name));
    }
    group.iter().all(|(netdev, address)| {
        address.net.addr().is_ipv6() || answers_for_itself(facts, &netdev.name)
    })
}

fn source_rule<'a>(facts: &'a Facts, address: &InterfaceAddress) -> Option<&'a RoutingRule> {
    let rules = facts.network.rules.known()?.iter();
    rules
        .filter(|rule| !matches!(rule.table.as_str(), "local" | "main" | "default"))
        .filter(|rule| rule.to.is_none())
        .filter(|rule| {
            let from = rule.from.as_ref().filter(|from| from.prefix_len() > 0);
            from.is_some_and(|from| from.contains(&address.net.addr()))
        })
        .min_by_key(|rule| rule.priority)
}

fn answers_for_itself(facts: &Facts, interface: &str) -> bool {
    let known = |setting| facts.sysctls.contains_key(&sysctl(setting, "all"));
    let on = |setting| effective(facts, setting, interface).is_some_and(|value| value > 0);
    on("arp_ignore") || on("arp_filter") || !known("arp_ignore")
}
