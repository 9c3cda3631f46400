//! The ways from one node's interfaces to another's, by IP.

use std::net::IpAddr;

use crosstie_model::{
    Facts, Mtu,
    facts::net::{Interface, InterfaceAddress},
};

use crate::rails::{Rail, RailEnd};

/// Two interfaces that reach each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IpRail {
    pub near: IpRailEnd,
    pub far: IpRailEnd,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IpRailEnd {
    pub interface: String,
    pub address: IpAddr,
    pub mtu: Option<Mtu>,
}

/// The interfaces below RDMA rails; InfiniBand's have none that are known to be theirs.
pub fn below(rails: &[Rail]) -> Vec<IpRail> {
    let end = |end: &RailEnd| {
        Some(IpRailEnd {
            interface: end.interface.clone()?,
            address: end.address?,
            mtu: end.mtu,
        })
    };
    let pairs = rails.iter().filter_map(|rail| {
        Some(IpRail {
            near: end(&rail.near)?,
            far: end(&rail.far)?,
        })
    });
    pairs.collect()
}

/// Interfaces that are up and have addresses in one subnet, in the near node's order: one pair a subnet, IPv4 first.
pub fn ip_rails(near: &Facts, far: &Facts) -> Vec<IpRail> {
    let mut rails: Vec<IpRail> = Vec::new();
    for (interface, own) in addresses(near) {
        let is_taken = rails
            .iter()
            .any(|rail| rail.near.interface == interface.name);
        if is_taken {
            continue;
        }
        let peer = addresses(far).into_iter().find(|(_, theirs)| {
            theirs.net.trunc() == own.net.trunc() && theirs.net.addr() != own.net.addr()
        });
        if let Some((far_interface, theirs)) = peer {
            rails.push(IpRail {
                near: end(interface, own),
                far: end(far_interface, theirs),
            });
        }
    }
    rails
}

fn end(interface: &Interface, address: &InterfaceAddress) -> IpRailEnd {
    IpRailEnd {
        interface: interface.name.clone(),
        address: address.net.addr(),
        mtu: interface.mtu.known().copied(),
    }
}

/// Global ones, IPv4 before IPv6.
fn addresses(facts: &Facts) -> Vec<(&Interface, &InterfaceAddress)> {
    let up = |interface: &&Interface| {
        interface.up.known() != Some(&false) && interface.carrier.known() != Some(&false)
    };
    let interfaces = facts.network.interfaces.iter().filter(up);
    let mut found: Vec<(&Interface, &InterfaceAddress)> = interfaces
        .flat_map(|interface| {
            let addresses = interface.addresses.iter();
            addresses.map(move |address| (interface, address))
        })
        .filter(|(_, address)| address.scope == "global")
        .collect();
    found.sort_by_key(|(_, address)| address.net.addr().is_ipv6());
    found
}
