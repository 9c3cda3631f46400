//! At which addresses the nodes of a job find its head, and each other.

use std::net::IpAddr;

use super::{JobNode, JobPort};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobNetwork {
    Fabric,
    Management,
}

/// Where all nodes meet: one address and interface each, the head's first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobAddresses {
    pub network: JobNetwork,
    pub nodes: Vec<(IpAddr, String)>,
}

impl JobAddresses {
    /// What a person should know of it.
    pub(super) fn notes(&self) -> Vec<String> {
        match self.network {
            JobNetwork::Fabric => Vec::new(),
            JobNetwork::Management => {
                let note =
                    "the nodes meet over management: no subnet of the fabric has all of them";
                vec![note.to_owned()]
            }
        }
    }
}

/// For engines: a subnet of the fabric that all nodes are in, as it is with one cable or a switch; else management.
pub fn meeting(nodes: &[JobNode]) -> Option<JobAddresses> {
    on_fabric(nodes).or_else(|| on_management(nodes))
}

/// For those who look after ranks: not over the cables whose faults they have to name, where there is another way.
pub(super) fn watch_address(nodes: &[JobNode]) -> Option<IpAddr> {
    let meeting = on_management(nodes).or_else(|| on_fabric(nodes))?;
    meeting.nodes.first().map(|(address, _)| *address)
}

fn on_fabric(nodes: &[JobNode]) -> Option<JobAddresses> {
    let (head, others) = nodes.split_first()?;
    head.ports.iter().find_map(|port| {
        let subnet = port.address?.trunc();
        let own = |port: &JobPort| Some((port.address?.addr(), port.interface.clone()?));
        let in_subnet = |node: &JobNode| {
            let mut ports = node.ports.iter();
            let port = ports.find(|port| port.address.is_some_and(|net| net.trunc() == subnet))?;
            own(port)
        };
        let mut met = vec![own(port)?];
        for node in others {
            met.push(in_subnet(node)?);
        }
        Some(JobAddresses {
            network: JobNetwork::Fabric,
            nodes: met,
        })
    })
}

/// Addresses that are alike are of networks that are apart.
fn on_management(nodes: &[JobNode]) -> Option<JobAddresses> {
    let mut met: Vec<(IpAddr, String)> = Vec::new();
    for node in nodes {
        let (interface, address) = node.management.clone()?;
        let is_known = met.iter().any(|(other, _)| *other == address);
        if is_known || address.is_loopback() {
            return None;
        }
        met.push((address, interface));
    }
    Some(JobAddresses {
        network: JobNetwork::Management,
        nodes: met,
    })
}

/// The addresses of the first rail on which both are, this node's and the other's.
pub(super) fn rail_between(one: &JobNode, other: &JobNode) -> Option<(IpAddr, IpAddr)> {
    one.ports.iter().find_map(|port| {
        let net = port.address?;
        let mut ports = other.ports.iter();
        let met =
            ports.find_map(|port| port.address.filter(|other| other.trunc() == net.trunc()))?;
        Some((net.addr(), met.addr()))
    })
}

/// What tells engines to use these interfaces for the talk between nodes.
pub(super) fn socket_settings(meeting: &JobAddresses, rank: usize) -> Vec<(String, String)> {
    let Some((_, interface)) = meeting.nodes.get(rank) else {
        return Vec::new();
    };
    [
        ("NCCL_SOCKET_IFNAME", format!("={interface}")),
        ("GLOO_SOCKET_IFNAME", interface.clone()),
        ("TP_SOCKET_IFNAME", interface.clone()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into()
}
