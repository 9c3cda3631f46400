//! The interfaces that questions go out by.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crosstie_model::{Facts, facts::net::Interface};
use ipnet::IpNet;
use thiserror::Error;

/// Interfaces that are asked on at most.
const MAX_PORTS: usize = 32;

/// `ARPHRD_LOOPBACK`
const LOOPBACK: u32 = 772;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiscoveryPort {
    pub name: String,
    pub index: u32,
    pub networks: Vec<IpNet>,
    /// A port of the fabric: everybody there is greeted.
    pub fabric: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{name} is no interface of this machine that is up and has a carrier; there are: {others}")]
pub struct NoSuchInterface {
    name: String,
    others: String,
}

/// Every interface with a link, or `only` those that are named, which then count as the fabric's.
pub fn ports(facts: &Facts, only: &[String]) -> Result<Vec<DiscoveryPort>, NoSuchInterface> {
    let interfaces = facts.network.interfaces.iter();
    let mut ports: Vec<DiscoveryPort> = interfaces
        .filter_map(|interface| port(facts, interface))
        .collect();
    for name in only {
        if !ports.iter().any(|port| port.name == *name) {
            let others: Vec<&str> = ports.iter().map(|port| port.name.as_str()).collect();
            return Err(NoSuchInterface {
                name: name.clone(),
                others: others.join(", "),
            });
        }
    }
    if !only.is_empty() {
        ports.retain(|port| only.contains(&port.name));
        for port in &mut ports {
            port.fabric = true;
        }
    }
    // The fabric's first, in case there are more than are asked on.
    ports.sort_by_key(|port| !port.fabric);
    ports.truncate(MAX_PORTS);
    Ok(ports)
}

fn port(facts: &Facts, interface: &Interface) -> Option<DiscoveryPort> {
    let is = |reading: &crosstie_model::Reading<bool>| reading.known().copied().unwrap_or(false);
    let loopback = interface.hardware_type.known() == Some(&LOOPBACK);
    // What belongs to a bond or a bridge is asked through it.
    let enslaved = interface.master.known().is_some();
    if loopback || enslaved || !is(&interface.up) || !is(&interface.carrier) {
        return None;
    }
    let rdma = facts.rdma.iter().flat_map(|device| &device.ports);
    let mut netdevs = rdma.filter_map(|port| port.netdev.known());
    Some(DiscoveryPort {
        name: interface.name.clone(),
        index: *interface.index.known()?,
        networks: interface.addresses.iter().map(|own| own.net).collect(),
        fabric: netdevs.any(|name| *name == interface.name),
    })
}

impl DiscoveryPort {
    pub fn link_local(&self) -> Option<Ipv6Addr> {
        self.networks.iter().find_map(|net| match net.addr() {
            IpAddr::V6(address) if address.is_unicast_link_local() => Some(address),
            _ => None,
        })
    }

    pub fn ipv4(&self) -> impl Iterator<Item = Ipv4Addr> + '_ {
        self.networks.iter().filter_map(|net| match net.addr() {
            IpAddr::V4(address) => Some(address),
            IpAddr::V6(_) => None,
        })
    }

    /// Whether a machine at this link can have the address. Whoever answers may claim any, and is not to send us elsewhere.
    pub fn is_on_link(&self, address: IpAddr) -> bool {
        if address.is_loopback() || address.is_unspecified() || address.is_multicast() {
            return false;
        }
        if let IpAddr::V6(address) = address
            && address.is_unicast_link_local()
        {
            return true;
        }
        self.networks.iter().any(|net| net.contains(&address))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_sends_us_elsewhere() {
        let port = DiscoveryPort {
            name: "eth0".into(),
            index: 2,
            networks: ["192.0.2.7/24", "fe80::7/64", "fd00::7/64"]
                .map(|net| net.parse().unwrap())
                .to_vec(),
            fabric: false,
        };
        for (address, expected) in [
            ("192.0.2.200", true),
            ("198.51.100.1", false),
            ("127.0.0.1", false),
            ("224.0.0.1", false),
            ("0.0.0.0", false),
            ("fe80::9", true),
            ("fd00::9", true),
            ("2001:db8::9", false),
            ("::1", false),
        ] {
            let address: IpAddr = address.parse().unwrap();
            assert_eq!(port.is_on_link(address), expected, "{address}");
        }
        assert_eq!(port.link_local(), Some("fe80::7".parse().unwrap()));
        assert_eq!(port.ipv4().count(), 1);
    }
}
