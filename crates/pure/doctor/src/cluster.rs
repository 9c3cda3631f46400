//! Several nodes, and which of their cages are joined.

use std::collections::{BTreeMap, BTreeSet};

use crosstie_fabric::wire::roce_path_mtu;
use crosstie_model::{Cable, ClusterSpec, PortRef};
use ipnet::IpNet;

use crate::{ExaminedNode, ExaminedPort, UnreadNode};

pub struct ExaminedCluster<'a> {
    pub spec: Option<&'a ClusterSpec>,
    pub nodes: Vec<ExaminedNode<'a>>,
    /// Those that were asked and could not be read.
    pub unread: &'a [UnreadNode],
    joints: Vec<Joint>,
}

/// Two cages that can hear each other, by their places in the list of nodes and in each node's cages.
struct Joint {
    a: (usize, usize),
    b: (usize, usize),
    by: JoinEvidence,
}

/// How it is known that two cages are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JoinEvidence {
    /// The cluster file has the cable.
    Spec,
    /// Nothing else is in their subnet, or nothing else is active on two nodes: taken as one cable.
    Alone,
    /// They share a subnet with others.
    Subnet,
}

/// Two cages that are joined.
pub struct CagePair<'a> {
    pub a: CagePairEnd<'a>,
    pub b: CagePairEnd<'a>,
    pub by: JoinEvidence,
}

pub struct CagePairEnd<'a> {
    pub node: &'a ExaminedNode<'a>,
    pub cage: usize,
}

impl<'a> ExaminedCluster<'a> {
    pub fn new(
        nodes: Vec<ExaminedNode<'a>>,
        unread: &'a [UnreadNode],
        spec: Option<&'a ClusterSpec>,
    ) -> Self {
        let joints = joints(&nodes, spec);
        Self {
            spec,
            nodes,
            unread,
            joints,
        }
    }

    /// The end of a cable, where its node was read and has such a cage.
    pub fn find(&self, end: &PortRef) -> Option<(&ExaminedNode<'a>, usize)> {
        let (node, cage) = place(&self.nodes, &end.node, &end.cage)?;
        Some((&self.nodes[node], cage))
    }

    pub fn pairs(&self) -> impl Iterator<Item = CagePair<'_>> {
        let end = |(node, cage): (usize, usize)| CagePairEnd {
            node: &self.nodes[node],
            cage,
        };
        self.joints.iter().map(move |joint| CagePair {
            a: end(joint.a),
            b: end(joint.b),
            by: joint.by,
        })
    }
}

impl CagePair<'_> {
    /// One cable, as far as can be known.
    pub fn is_cable(&self) -> bool {
        self.by != JoinEvidence::Subnet
    }

    /// `spark-a:p1 – spark-b:p1`
    pub fn label(&self) -> String {
        format!("{} – {}", self.a.label(), self.b.label())
    }
}

impl<'a> CagePairEnd<'a> {
    pub fn label(&self) -> String {
        let cage = self.node.cages.get(self.cage);
        format!("{}:{}", self.node.name, cage.map_or("?", |cage| &cage.id))
    }

    /// Its node and its cage, by name.
    pub fn place(&self) -> Option<(String, String)> {
        let cage = self.node.cages.get(self.cage)?;
        Some((self.node.name.to_owned(), cage.id.clone()))
    }

    pub fn ports(&self) -> impl Iterator<Item = &'a ExaminedPort<'a>> {
        let cage = self.cage;
        let node: &'a ExaminedNode<'a> = self.node;
        node.fabric.iter().filter(move |port| port.cage == cage)
    }
}

fn joints(nodes: &[ExaminedNode], spec: Option<&ClusterSpec>) -> Vec<Joint> {
    let cables = spec.map_or(&[][..], |spec| &spec.cables);
    let mut joints: Vec<Joint> = cables
        .iter()
        .filter_map(|cable| match cable {
            Cable::Direct { a, b, .. } => Some(Joint {
                a: place(nodes, &a.node, &a.cage)?,
                b: place(nodes, &b.node, &b.cage)?,
                by: JoinEvidence::Spec,
            }),
            Cable::Switched { .. } => None,
        })
        .collect();
    for (subnet, members) in subnets(nodes) {
        joints.extend(of_subnet(nodes, subnet, &members));
    }
    if cables.is_empty() {
        joints.extend(two_of_a_kind(nodes));
    }
    let mut seen: BTreeSet<((usize, usize), (usize, usize))> = BTreeSet::new();
    joints.retain(|joint| {
        let key = (joint.a.min(joint.b), joint.a.max(joint.b));
        seen.insert(key)
    });
    joints
}

fn place(nodes: &[ExaminedNode], node: &str, cage: &str) -> Option<(usize, usize)> {
    let index = nodes.iter().position(|found| found.name == node)?;
    let cage = nodes[index]
        .cages
        .iter()
        .position(|found| found.id == cage)?;
    Some((index, cage))
}

/// The cages of each subnet, one entry a cage.
fn subnets(nodes: &[ExaminedNode]) -> BTreeMap<IpNet, Vec<(usize, usize)>> {
    let mut subnets: BTreeMap<IpNet, Vec<(usize, usize)>> = BTreeMap::new();
    for (index, node) in nodes.iter().enumerate() {
        for port in &node.fabric {
            for (_, address) in port.lasting_addresses() {
                let members = subnets.entry(address.net.trunc()).or_default();
                if members.last() != Some(&(index, port.cage)) {
                    members.push((index, port.cage));
                }
            }
        }
    }
    subnets
}

/// Two cages of two nodes are taken as a cable. More are a switch's: each is compared with one that has what most
/// have, so that the one odd node is named and not all the others.
fn of_subnet(nodes: &[ExaminedNode], subnet: IpNet, members: &[(usize, usize)]) -> Vec<Joint> {
    let mut owners: Vec<usize> = members.iter().map(|(node, _)| *node).collect();
    owners.dedup();
    if owners.len() < 2 {
        return Vec::new();
    }
    let by = if owners.len() == 2 && members.len() == 2 {
        JoinEvidence::Alone
    } else {
        JoinEvidence::Subnet
    };
    let path_mtu = |(node, cage): (usize, usize)| {
        let ports = nodes[node].fabric.iter();
        let mut ports = ports.filter(|port| {
            let is_member = || {
                let addresses = port.lasting_addresses();
                addresses.iter().any(|(_, own)| own.net.trunc() == subnet)
            };
            port.cage == cage && is_member()
        });
        ports
            .next()?
            .netdev?
            .mtu
            .known()
            .and_then(|mtu| roce_path_mtu(*mtu))
    };
    let mut votes: BTreeMap<_, (usize, (usize, usize))> = BTreeMap::new();
    for member in members {
        votes.entry(path_mtu(*member)).or_insert((0, *member)).0 += 1;
    }
    let most = votes
        .values()
        .max_by_key(|(count, (node, _))| (*count, std::cmp::Reverse(*node)));
    let Some((_, reference)) = most.copied() else {
        return Vec::new();
    };
    members
        .iter()
        .filter(|member| member.0 != reference.0)
        .map(|member| Joint {
            a: reference.min(*member),
            b: reference.max(*member),
            by,
        })
        .collect()
}

/// Two nodes with one active cage each: whoever asks about just these two has joined them.
fn two_of_a_kind(nodes: &[ExaminedNode]) -> Option<Joint> {
    let [first, second] = nodes else { return None };
    let only = |node: &ExaminedNode| {
        let mut cages: Vec<usize> = node.fabric.iter().map(|port| port.cage).collect();
        cages.dedup();
        let free = node.fabric.iter().all(|port| !port.switched);
        (cages.len() == 1 && free).then(|| cages[0])
    };
    Some(Joint {
        a: (0, only(first)?),
        b: (1, only(second)?),
        by: JoinEvidence::Alone,
    })
}
