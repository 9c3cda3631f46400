//! The ways from one node's RDMA ports to another's.

use std::net::IpAddr;

use crosstie_model::{
    Facts, Mtu,
    facts::{
        net::InterfaceAddress,
        rdma::{LinkLayer, RdmaDevice, RdmaPort},
    },
};
use ipnet::IpNet;

/// Two ports that reach each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rail {
    pub near: RailEnd,
    pub far: RailEnd,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RailEnd {
    pub device: String,
    pub port: u32,
    /// RoCE has one.
    pub interface: Option<String>,
    pub address: Option<IpAddr>,
    pub mtu: Option<Mtu>,
}

/// An active port, and the subnet of one of its addresses; InfiniBand has none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttachedPort {
    pub end: RailEnd,
    pub subnet: Option<IpNet>,
}

/// Every active port, once for each of its addresses. A RoCE port without an address is left out.
pub fn attached(facts: &Facts) -> Vec<AttachedPort> {
    let of_port = |(device, port): (&RdmaDevice, &RdmaPort)| {
        if is_infiniband(port) {
            return vec![AttachedPort {
                end: infiniband(device, port),
                subnet: None,
            }];
        }
        let own = addresses(facts, port).into_iter();
        own.map(|address| AttachedPort {
            end: roce(facts, device, port, address.net.addr()),
            subnet: Some(address.net.trunc()),
        })
        .collect()
    };
    active(facts).flat_map(of_port).collect()
}

/// Active RoCE ports with addresses in one subnet, in the near node's order; active InfiniBand ports one by one, since
/// nothing tells which of them share a switch.
pub fn rails(near: &Facts, far: &Facts) -> Vec<Rail> {
    let mut rails = Vec::new();
    let far_ports: Vec<_> = active(far).collect();
    for (device, port) in active(near) {
        let own = addresses(near, port);
        let peer = far_ports.iter().find_map(|(device, port)| {
            let pair = own.iter().find_map(|own| {
                let theirs = addresses(far, port);
                let same = |their: &&&InterfaceAddress| their.net.trunc() == own.net.trunc();
                let their = theirs.iter().find(same)?;
                Some((own.net.addr(), their.net.addr()))
            })?;
            Some((*device, *port, pair))
        });
        if let Some((far_device, far_port, (own, theirs))) = peer {
            rails.push(Rail {
                near: roce(near, device, port, own),
                far: roce(far, far_device, far_port, theirs),
            });
        }
    }
    let of_infiniband = |facts| {
        let ports = active(facts).filter(|(_, port)| is_infiniband(port));
        ports.map(|(device, port)| infiniband(device, port))
    };
    let both = of_infiniband(near).zip(of_infiniband(far));
    rails.extend(both.map(|(near, far)| Rail { near, far }));
    rails
}

fn active(facts: &Facts) -> impl Iterator<Item = (&RdmaDevice, &RdmaPort)> {
    let ports = facts.rdma.iter().flat_map(|device| {
        let ports = device.ports.iter();
        ports.map(move |port| (device, port))
    });
    ports.filter(|(_, port)| port.is_active())
}

fn is_infiniband(port: &RdmaPort) -> bool {
    port.link_layer.known() == Some(&LinkLayer::InfiniBand)
}

/// Of the port's interface; none on InfiniBand, whose IP addresses are no matter.
fn addresses<'a>(facts: &'a Facts, port: &RdmaPort) -> Vec<&'a InterfaceAddress> {
    let name = port.netdev.known().filter(|_| !is_infiniband(port));
    let interfaces = facts.network.interfaces.iter();
    let own = interfaces.filter(|one| Some(&one.name) == name);
    own.flat_map(|one| &one.addresses)
        .filter(|address| address.scope == "global")
        .collect()
}

fn infiniband(device: &RdmaDevice, port: &RdmaPort) -> RailEnd {
    RailEnd {
        device: device.name.clone(),
        port: port.number,
        interface: None,
        address: None,
        mtu: None,
    }
}

fn roce(facts: &Facts, device: &RdmaDevice, port: &RdmaPort, address: IpAddr) -> RailEnd {
    let interface = port.netdev.known().cloned();
    let mut interfaces = facts.network.interfaces.iter();
    let found = interfaces.find(|one| Some(&one.name) == interface.as_ref());
    RailEnd {
        device: device.name.clone(),
        port: port.number,
        mtu: found.and_then(|one| one.mtu.known().copied()),
        interface,
        address: Some(address),
    }
}

/// Programs that use a device, by name and number; of the kernel's own users, those with connections.
pub fn users(facts: &Facts, device: &str) -> Vec<String> {
    let devices = facts.rdma.iter().filter(|one| one.name == device);
    let pairs = devices.flat_map(|one| one.queue_pairs.known().into_iter().flatten());
    let mut users: Vec<String> = pairs
        .filter_map(|pair| {
            let command = pair.command.as_deref();
            match pair.pid {
                Some(pid) => Some(format!("{} ({pid})", command.unwrap_or("a program"))),
                // Every device has kernel queue pairs for management.
                None if pair.kind == "RC" => {
                    Some(format!("the kernel's {}", command.unwrap_or("own work")))
                }
                None => None,
            }
        })
        .collect();
    users.sort();
    users.dedup();
    users
}
