//! Words that several checks share.

use std::collections::{BTreeMap, BTreeSet};

use crosstie_model::{Facts, facts::net::Interface};
use ipnet::IpNet;

use crate::{ExaminedNode, ExaminedPort, word};

/// Fabric ports that speak RoCE: IP over InfiniBand has rules of its own.
pub(crate) fn roce<'n, 'a>(
    node: &'n ExaminedNode<'a>,
) -> impl Iterator<Item = &'n ExaminedPort<'a>> {
    node.fabric.iter().filter(|port| port.is_roce())
}

/// RoCE fabric ports, less those that are taken for the fabric only for want of a better one: a port with the gateway
/// that no cluster file names is somebody's LAN, with the LAN's MTU, firewall and subnets.
pub(crate) fn dedicated<'n, 'a>(
    node: &'n ExaminedNode<'a>,
) -> impl Iterator<Item = &'n ExaminedPort<'a>> {
    roce(node).filter(|port| port.named || gateway_through(node, port).is_none())
}

/// The interface of the default route, where it is the port's own or lies above it.
pub(crate) fn gateway_through<'a>(
    node: &ExaminedNode<'a>,
    port: &ExaminedPort<'a>,
) -> Option<&'a str> {
    node.index.gateway_through(&port.netdev?.name)
}

/// Ports of RoCE in groups that share a cage.
pub(crate) fn roce_cages<'n, 'a>(node: &'n ExaminedNode<'a>) -> Vec<Vec<&'n ExaminedPort<'a>>> {
    let mut cages: BTreeMap<usize, Vec<&ExaminedPort>> = BTreeMap::new();
    for port in roce(node) {
        cages.entry(port.cage).or_default().push(port);
    }
    cages.into_values().collect()
}

pub(crate) fn listed<T: AsRef<str>>(names: impl IntoIterator<Item = T>) -> String {
    let mut text = String::new();
    for name in names {
        if !text.is_empty() {
            text.push_str(", ");
        }
        text.push_str(name.as_ref());
    }
    text
}

pub(crate) fn has_ipv4(port: &ExaminedPort) -> bool {
    let addresses = port.addresses();
    addresses
        .iter()
        .any(|(_, address)| address.net.addr().is_ipv4())
}

/// The first few names; beyond that a number says more.
pub(crate) fn listed_briefly(names: &[&str]) -> String {
    const MAX_NAMED: usize = 8;
    let shown = listed(names.iter().take(MAX_NAMED));
    match names.len().saturating_sub(MAX_NAMED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// Where an interface's addresses can be read.
pub(crate) fn address_source(interface: &str) -> String {
    format!("ip addr show dev {}", word(interface))
}

pub(crate) fn netdev_file(interface: &str, name: &str) -> String {
    format!("/sys/class/net/{interface}/{name}")
}

/// Whether addresses were read at all: every machine has some, its loopback's if no other.
pub(crate) fn addresses_known(facts: &Facts) -> bool {
    let mut interfaces = facts.network.interfaces.iter();
    interfaces.any(|interface| !interface.addresses.is_empty())
}

/// Interfaces and all that lie above them: VLANs, macvlans, the bond or bridge they belong to.
pub(crate) fn stack<'a>(
    node: &ExaminedNode<'a>,
    names: impl IntoIterator<Item = &'a str>,
) -> BTreeSet<&'a str> {
    let facts: &'a Facts = node.facts;
    let mut found = BTreeSet::new();
    let mut frontier: Vec<&str> = names.into_iter().collect();
    while let Some(name) = frontier.pop() {
        if !found.insert(name) {
            continue;
        }
        frontier.extend(node.index.above(name));
        let own = facts.network.interface(name);
        frontier.extend(own.and_then(|own| own.master.known()).map(String::as_str));
    }
    found
}

/// Every interface that belongs to the fabric: those of its ports, and what lies above them.
pub(crate) fn fabric_names<'a>(node: &ExaminedNode<'a>) -> BTreeSet<&'a str> {
    let ports = node.fabric.iter();
    let names = ports.flat_map(|port| {
        let own = port.netdev.map(|netdev| netdev.name.as_str());
        let addressed = port.addresses().into_iter();
        own.into_iter()
            .chain(addressed.map(|(netdev, _)| netdev.name.as_str()))
    });
    stack(node, names)
}

/// Whether two interfaces share one routing table: a VRF keeps its members' apart.
pub(crate) fn share_routes(facts: &Facts, a: &Interface, b: &Interface) -> bool {
    vrf_of(facts, a) == vrf_of(facts, b)
}

pub(crate) fn vrf_of<'a>(facts: &'a Facts, interface: &Interface) -> Option<&'a str> {
    let master = facts.network.interface(interface.master.known()?)?;
    let is_vrf = master.kind.known().is_some_and(|kind| kind == "vrf");
    is_vrf.then_some(&*master.name)
}

pub(crate) fn overlap(a: &IpNet, b: &IpNet) -> bool {
    a.contains(&b.network()) || b.contains(&a.network())
}

/// A prefix of one address: no subnet that others could be in.
pub(crate) fn is_single(net: &IpNet) -> bool {
    net.prefix_len() == net.max_prefix_len()
}

/// The value of `net.ipv4.conf.*.SETTING` that the kernel goes by for an interface: the larger of its own and the one
/// for all. `None` if the one for all was not read.
pub(crate) fn effective(facts: &Facts, setting: &str, interface: &str) -> Option<u32> {
    let value = |name: &str| {
        facts
            .sysctls
            .get(&sysctl(setting, name))?
            .parse::<u32>()
            .ok()
    };
    let all = value("all")?;
    Some(all.max(value(interface).unwrap_or(0)))
}

/// The name of a setting of one interface. As sysctl does, a dot inside a name is written as a slash.
pub(crate) fn sysctl(setting: &str, interface: &str) -> String {
    format!("net.ipv4.conf.{}.{setting}", interface.replace('.', "/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_in_names_are_slashes_in_sysctls() {
        assert_eq!(
            sysctl("arp_ignore", "bond0.177"),
            "net.ipv4.conf.bond0/177.arp_ignore"
        );
    }

    #[test]
    fn subnets_overlap_when_one_holds_the_other() {
        let net = |text: &str| text.parse::<IpNet>().unwrap();
        assert!(overlap(&net("10.0.0.1/8"), &net("10.1.2.3/24")));
        assert!(!overlap(&net("10.0.0.1/24"), &net("10.0.1.1/24")));
        assert!(!overlap(&net("10.0.0.1/8"), &net("fd00::1/64")));
        assert!(is_single(&net("10.0.0.1/32")));
    }
}
