//! What the cables make of the nodes.

use std::collections::{BTreeMap, BTreeSet};

use crosstie_model::{Cable, ClusterSpec};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Topology {
    /// No cable between two nodes.
    Apart,
    /// Two nodes, joined directly.
    Pair,
    /// Each node is joined to two others, in one circle of so many nodes.
    Ring(usize),
    /// Every one of so many nodes is joined to every other.
    Mesh(usize),
    /// All by switches.
    Switched,
    Mixed,
}

impl Topology {
    pub fn of(spec: &ClusterSpec) -> Self {
        let switched = spec
            .cables
            .iter()
            .any(|cable| matches!(cable, Cable::Switched { .. }));
        let mut joined: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (_, _, a, b) in spec.direct_cables().filter(|(_, _, a, b)| a.node != b.node) {
            joined.entry(&a.node).or_default().insert(&b.node);
            joined.entry(&b.node).or_default().insert(&a.node);
        }
        let count = joined.len();
        let all = |degree: usize| joined.values().all(|others| others.len() == degree);
        match (switched, count) {
            (true, 0) => Self::Switched,
            (true, _) => Self::Mixed,
            (false, 0) => Self::Apart,
            (false, 2) => Self::Pair,
            _ if all(2) && is_connected(&joined) => Self::Ring(count),
            _ if all(count - 1) => Self::Mesh(count),
            _ => Self::Mixed,
        }
    }

    /// Three or more nodes, and each pair meets in a subnet of its own, if at all.
    pub fn has_subnet_per_pair(self) -> bool {
        matches!(self, Self::Ring(_) | Self::Mesh(_) | Self::Mixed)
    }
}

fn is_connected(joined: &BTreeMap<&str, BTreeSet<&str>>) -> bool {
    let mut frontier: Vec<&str> = joined.keys().take(1).copied().collect();
    let mut seen = BTreeSet::new();
    while let Some(node) = frontier.pop() {
        if seen.insert(node) {
            frontier.extend(joined.get(node).into_iter().flatten());
        }
    }
    seen.len() == joined.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topology(cables: &[&str]) -> Topology {
        let cables: String = cables
            .iter()
            .enumerate()
            .map(|(index, cable)| match cable.split_once('-') {
                Some((a, b)) => {
                    format!("[[cable]]\na = '{a}:p{index}'\nb = '{b}:q{index}'\n")
                }
                None => format!("[[cable]]\nport = '{cable}:p{index}'\nplane = 's'\n"),
            })
            .collect();
        Topology::of(&ClusterSpec::from_toml(&format!("format = 1\nname = 'x'\n{cables}")).unwrap())
    }

    #[test]
    fn shapes_are_told_apart() {
        assert_eq!(topology(&[]), Topology::Apart);
        assert_eq!(topology(&["a-b", "a-b"]), Topology::Pair);
        assert_eq!(topology(&["a-b", "b-c", "c-a"]), Topology::Ring(3));
        assert_eq!(topology(&["a-b", "b-c", "c-d", "d-a"]), Topology::Ring(4));
        let mesh = ["a-b", "a-c", "a-d", "b-c", "b-d", "c-d"];
        assert_eq!(topology(&mesh), Topology::Mesh(4));
        assert_eq!(topology(&["a-b", "b-c"]), Topology::Mixed);
        let two = ["a-b", "b-c", "c-a", "d-e", "e-f", "f-d"];
        assert_eq!(topology(&two), Topology::Mixed);
        assert_eq!(topology(&["a", "b"]), Topology::Switched);
    }
}
