//! Where a node can be reached by its peers.

use std::net::IpAddr;

use crosstie_fabric::management;
use crosstie_model::{Facts, facts::net::Interface};
use ipnet::IpNet;

/// More than any machine has cages; a node cannot fill its peers' files.
const MAX_ADDRESSES: usize = 64;

/// Management first, then the fabric: ports of RDMA devices, and what lies on top of them. Bridges of containers and
/// virtual machines are not among them.
pub fn addresses(facts: &Facts) -> Vec<IpNet> {
    let interfaces = &facts.network.interfaces;
    let management = management(facts);
    let ports: Vec<&String> = facts
        .rdma
        .iter()
        .flat_map(|device| &device.ports)
        .filter_map(|port| port.netdev.known())
        .collect();
    let is_fabric = |interface: &&Interface| {
        let below = interface.lower.known();
        ports.contains(&&interface.name)
            || below.is_some_and(|name| ports.contains(&name))
            || interfaces.iter().any(|port| {
                ports.contains(&&port.name) && port.master.known() == Some(&interface.name)
            })
    };
    let first = interfaces
        .iter()
        .filter(|interface| management.contains(&interface.name));
    let mut found: Vec<IpNet> = Vec::new();
    for interface in first.chain(interfaces.iter().filter(is_fabric)) {
        for address in &interface.addresses {
            if is_usable(address.net.addr()) && !found.contains(&address.net) {
                found.push(address.net);
            }
        }
    }
    found.truncate(MAX_ADDRESSES);
    found
}

/// A link-local IPv6 address means nothing without its interface; ssh's `Host` has no place for one.
fn is_usable(address: IpAddr) -> bool {
    let local = match address {
        IpAddr::V4(_) => false,
        IpAddr::V6(address) => address.is_unicast_link_local(),
    };
    !local && !address.is_loopback() && !address.is_multicast() && !address.is_unspecified()
}
