//! What a new cluster file should say: cages, cables with numbers, a pool of addresses, MTU, quality of service.

mod pool;
mod ports;

use crosstie_model::{
    Cable, ClusterSpec, Facts, Mtu,
    spec::{self, QosSpec},
};
use ipnet::Ipv4Net;

use crate::cabling::{CageConnection, DetectedCabling, SurveyedNode};

pub use pool::free_pool;
pub use ports::{CagePort, cage_ports};

/// What nearly every fabric runs with; RoCE's largest packet of 4096 bytes fits in.
const USUAL_MTU: u32 = 9000;

/// The usual choice of NVIDIA's guides and switches: priority 3, DSCP 26.
pub const QOS: QosSpec = QosSpec {
    priority: 3,
    dscp: 26,
    ecn: true,
};

/// A node as it was found.
pub struct InitCandidate<'a> {
    pub facts: &'a Facts,
    /// How it was reached.
    pub destination: &'a str,
    pub survey: &'a SurveyedNode,
}

/// A cluster file's content, from what was found alone.
#[derive(Debug, Clone, PartialEq)]
pub struct ClusterProposal {
    pub mtu: Option<Mtu>,
    /// `None` where every private network is taken.
    pub pool: Option<Ipv4Net>,
    /// Where a switch is in the path.
    pub qos: Option<QosSpec>,
    pub nodes: Vec<ProposedNode>,
    /// Without numbers.
    pub cables: Vec<Cable>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProposedNode {
    pub name: String,
    pub ssh: Option<String>,
    pub cages: Vec<ProposedCage>,
    /// Devices whose cage nothing tells as long as nothing is plugged in.
    pub unknown: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProposedCage {
    pub id: String,
    pub by_hearing: bool,
    pub ports: Vec<CagePort>,
}

pub fn propose(members: &[InitCandidate], wiring: &DetectedCabling) -> ClusterProposal {
    let is_switched = |cable: &Cable| matches!(cable, Cable::Switched { .. });
    let nodes = members.iter().zip(&wiring.cages);
    ClusterProposal {
        mtu: mtu(members, wiring),
        pool: free_pool(members.iter().map(|member| member.facts)),
        qos: wiring.cables.iter().any(is_switched).then_some(QOS),
        nodes: nodes.map(|(member, cages)| node(member, cages)).collect(),
        cables: wiring.cables.clone(),
    }
}

fn node(member: &InitCandidate, cages: &[crate::cabling::FoundCage]) -> ProposedNode {
    let name = member.facts.host.name.clone();
    // Software devices that heard nobody may be anybody's twins.
    let is_known = |cage: &crate::cabling::FoundCage| {
        cage.connection == CageConnection::Cabled
            || cage.ports.len() > 1
            || cage
                .ports
                .iter()
                .any(|port| member.survey.ports[*port].cage.is_some())
    };
    let devices = |cage: &crate::cabling::FoundCage| -> Vec<String> {
        let ports = cage.ports.iter();
        ports
            .map(|port| member.survey.ports[*port].device.clone())
            .collect()
    };
    let (known, unknown): (Vec<_>, Vec<_>) = cages.iter().partition(|cage| is_known(cage));
    ProposedNode {
        ssh: (member.destination != name && member.destination != ".")
            .then(|| member.destination.to_owned()),
        name,
        cages: known
            .into_iter()
            .map(|cage| ProposedCage {
                id: cage.id.clone(),
                by_hearing: cage.by_hearing,
                ports: cage_ports(member.facts, &devices(cage)),
            })
            .collect(),
        unknown: unknown.into_iter().flat_map(devices).collect(),
    }
}

/// The most that every cabled port can carry, and no more than is usual.
fn mtu(members: &[InitCandidate], wiring: &DetectedCabling) -> Option<Mtu> {
    let mut least = None;
    for (member, cages) in members.iter().zip(&wiring.cages) {
        for cage in cages
            .iter()
            .filter(|cage| cage.connection == CageConnection::Cabled)
        {
            for port in &cage.ports {
                let name = &member.survey.ports[*port].interface;
                let interface = member.facts.network.interface(name);
                let able = interface.and_then(|interface| {
                    interface.max_mtu.known().or(interface.mtu.known()).copied()
                });
                least = able.into_iter().chain(least).min();
            }
        }
    }
    least.map(|least| least.min(Mtu(USUAL_MTU)))
}

/// The lowest number that is free, then the next.
pub fn free_numbers(taken: impl Iterator<Item = u32>) -> impl Iterator<Item = u32> {
    let taken: std::collections::BTreeSet<u32> = taken.collect();
    (1..).filter(move |number| !taken.contains(number))
}

/// The numbers that a cluster file's cables have.
pub fn cable_numbers(spec: Option<&ClusterSpec>) -> impl Iterator<Item = u32> {
    let cables = spec.into_iter().flat_map(|spec| &spec.cables);
    cables.filter_map(|cable| match cable {
        Cable::Direct { number, .. } => *number,
        Cable::Switched { .. } => None,
    })
}

pub fn node_numbers(spec: Option<&ClusterSpec>) -> impl Iterator<Item = u32> {
    let nodes = spec.into_iter().flat_map(|spec| &spec.nodes);
    nodes.filter_map(|node: &spec::NodeSpec| node.number)
}
