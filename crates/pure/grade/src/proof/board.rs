//! Ports, what they share, and which of them reach each other.

use std::collections::HashMap;

use crosstie_model::run::{MeasuredEnd, RunHeader, StoredRun};

use crate::{
    ceiling::RunPortIndex,
    schedule::{PortPair, SharedResources},
};

/// The ends of a run as numbers.
#[derive(Debug, Clone)]
pub struct TestEndTable {
    pub ends: Vec<MeasuredEnd>,
    /// Host of each end, by its place among the run's nodes.
    pub nodes: Vec<usize>,
    pub shared: Vec<SharedResources>,
    /// Ends that reach each other.
    pub groups: Vec<Vec<usize>>,
}

impl TestEndTable {
    pub fn new(header: &RunHeader) -> Self {
        let run = StoredRun::new(header.clone());
        let ports = RunPortIndex::new(&run);
        let hosts: HashMap<&str, usize> = header
            .nodes
            .iter()
            .enumerate()
            .map(|(at, node)| (node.host.as_str(), at))
            .collect();
        let mut board = Self {
            ends: Vec::new(),
            nodes: Vec::new(),
            shared: Vec::new(),
            groups: Vec::new(),
        };
        let mut places: HashMap<&MeasuredEnd, usize> = HashMap::new();
        let mut names: HashMap<(usize, String), u32> = HashMap::new();
        for group in &header.groups {
            let members = group.iter().filter_map(|end| {
                let node = *hosts.get(end.host.as_str())?;
                Some(*places.entry(end).or_insert_with(|| {
                    board.ends.push(end.clone());
                    board.nodes.push(node);
                    let shared = resources(&ports, end, node);
                    let shared = shared.into_iter().map(|name| {
                        let next = u32::try_from(names.len()).unwrap_or(u32::MAX);
                        *names.entry(name).or_insert(next)
                    });
                    board.shared.push(SharedResources(shared.collect()));
                    board.ends.len() - 1
                }))
            });
            let members: Vec<usize> = members.collect();
            board.groups.push(members);
        }
        board
    }

    /// Every two ends of a group that are on different nodes.
    pub fn pairs(&self) -> Vec<PortPair> {
        let mut pairs = Vec::new();
        for group in &self.groups {
            for (at, a) in group.iter().enumerate() {
                let others = group[at + 1..].iter();
                let others = others.filter(|b| self.nodes[*a] != self.nodes[**b]);
                pairs.extend(others.map(|b| (*a, *b)));
            }
        }
        pairs
    }

    /// As many as `pairs` has.
    pub fn pair_count(&self) -> u64 {
        let of_group = |group: &Vec<usize>| {
            let mut on_node: HashMap<usize, u64> = HashMap::new();
            for end in group {
                *on_node.entry(self.nodes[*end]).or_default() += 1;
            }
            let all = group.len() as u64;
            let with_others: u64 = on_node.values().map(|own| own * (all - own)).sum();
            with_others / 2
        };
        self.groups.iter().map(of_group).sum()
    }

    pub fn host(&self, end: usize) -> &str {
        &self.ends[end].host
    }

    /// Several nodes beyond a pair reach each other.
    pub fn is_switched(&self) -> bool {
        self.groups.iter().any(|group| group.len() > 2)
    }
}

/// The cable, and every PCI Express link above the port. `usize::MAX` stands for what belongs to no node.
fn resources(ports: &RunPortIndex, end: &MeasuredEnd, node: usize) -> Vec<(usize, String)> {
    let cable = end.cable.iter().map(|cable| (usize::MAX, cable.clone()));
    let links = ports.port(end).into_iter().flat_map(|port| &port.pcie);
    let links = links.map(|link| (node, link.at.clone()));
    cable.chain(links).collect()
}
