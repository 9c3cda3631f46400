//! Which part is at fault, from which tests are low.
//!
//! Every part that could be at fault stands for a set of tests: a node for all tests that begin or end there, a cable for
//! those that cross it, a path for those between two ports. A part can be at fault only if none of its tests is good.
//! Parts that stand for the same tests cannot be told apart, and are named together. The fewest sets that explain
//! every low test are the answer; the largest is taken first.

use std::{
    cmp::Reverse,
    collections::{BTreeSet, BinaryHeap, HashMap},
};

/// Where a port is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortLocation {
    pub node: usize,
    pub rail: u32,
    /// Both ends of a direct cable have the same.
    pub cable: Option<usize>,
}

/// One direction between two ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DirectionTest {
    pub from: usize,
    pub to: usize,
    pub state: DirectionState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DirectionState {
    Good,
    /// Not good, and not so bad that it needs an explanation by itself.
    Reduced,
    Low,
}

/// What may be at fault. In this order they are named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SuspectPart {
    /// No test is good.
    Everything,
    Rail(u32),
    Node(usize),
    NodeSending(usize),
    NodeReceiving(usize),
    Port(usize),
    PortSending(usize),
    PortReceiving(usize),
    Cable(usize),
    /// In the direction away from the node.
    CableFrom(usize, usize),
    /// In the direction to the node.
    CableTo(usize, usize),
    /// Between two ports, the smaller first.
    Path(usize, usize),
    PathOneWay(usize, usize),
    /// Between two nodes on all rails, the smaller first.
    Between(usize, usize),
    BetweenOneWay(usize, usize),
}

/// One fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocatedFault {
    /// Those that cannot be told apart.
    pub parts: Vec<SuspectPart>,
    /// The tests that it explains, by their places.
    pub tests: Vec<usize>,
}

#[derive(Default, Clone, Copy)]
struct Count {
    tested: usize,
    good: usize,
    low: usize,
}

/// The fewest faults that explain every low test.
pub fn locate(places: &[PortLocation], tests: &[DirectionTest]) -> Vec<LocatedFault> {
    let mut counts: HashMap<SuspectPart, Count> = HashMap::new();
    for test in tests {
        for part in parts_of(places, test) {
            let count = counts.entry(part).or_default();
            count.tested += 1;
            count.good += usize::from(test.state == DirectionState::Good);
            count.low += usize::from(test.state == DirectionState::Low);
        }
    }
    let wide = wide_parts(places, tests);
    let possible = |part: &SuspectPart| {
        let count = counts.get(part).copied().unwrap_or_default();
        let named =
            !matches!(part, SuspectPart::Everything | SuspectPart::Rail(_)) || wide.contains(part);
        named && count.good == 0 && count.low * 2 > count.tested
    };
    let mut sets: HashMap<SuspectPart, Vec<usize>> = HashMap::new();
    for (index, test) in tests.iter().enumerate() {
        if test.state == DirectionState::Good {
            continue;
        }
        for part in parts_of(places, test).filter(possible) {
            sets.entry(part).or_default().push(index);
        }
    }
    let mut alike: HashMap<Vec<usize>, Vec<SuspectPart>> = HashMap::new();
    for (part, set) in sets {
        alike.entry(set).or_default().push(part);
    }
    let mut groups: Vec<LocatedFault> = alike
        .into_iter()
        .map(|(tests, mut parts)| {
            parts.sort_unstable();
            parts.dedup();
            // On one rail the path says it better.
            let path = |part: &SuspectPart| {
                matches!(part, SuspectPart::Path(..) | SuspectPart::PathOneWay(..))
            };
            if parts.iter().any(path) {
                parts.retain(|part| {
                    !matches!(
                        part,
                        SuspectPart::Between(..) | SuspectPart::BetweenOneWay(..)
                    )
                });
            }
            LocatedFault { parts, tests }
        })
        .collect();
    // The order of a hash map is nobody's business.
    groups.sort_by(|a, b| a.parts.cmp(&b.parts));
    cover(tests, groups)
}

/// Largest first, each counted by what it explains that nothing before it has. Of two that explain as much, the one goes
/// first that explains more of what nothing of its size does: a good node between two bad ones looks bad, too, and
/// explains nothing that they do not.
fn cover(tests: &[DirectionTest], groups: Vec<LocatedFault>) -> Vec<LocatedFault> {
    let mut open: Vec<bool> = tests
        .iter()
        .map(|test| test.state == DirectionState::Low)
        .collect();
    let worth = |group: &LocatedFault, open: &[bool]| {
        let tests = group.tests.iter();
        tests.filter(|test| open[**test]).count()
    };
    let alone = alone(&open, &groups);
    let mut heap: BinaryHeap<(usize, usize, Reverse<usize>)> = groups
        .iter()
        .enumerate()
        .map(|(index, group)| (worth(group, &open), alone[index], Reverse(index)))
        .collect();
    let mut chosen: Vec<usize> = Vec::new();
    while let Some((believed, alone, Reverse(index))) = heap.pop() {
        let now = worth(&groups[index], &open);
        if now == 0 {
            continue;
        }
        if now < believed {
            heap.push((now, alone, Reverse(index)));
            continue;
        }
        for test in &groups[index].tests {
            open[*test] = false;
        }
        chosen.push(index);
    }
    let needed = needed(tests, &groups, &chosen);
    let groups = groups.into_iter().enumerate();
    let groups = groups.filter(|(index, _)| needed.contains(index));
    groups.map(|(_, group)| group).collect()
}

/// Of each group: tests that no other group of at least its size explains.
fn alone(low: &[bool], groups: &[LocatedFault]) -> Vec<usize> {
    let mut sizes: Vec<Vec<usize>> = vec![Vec::new(); low.len()];
    for group in groups {
        for test in group.tests.iter().filter(|test| low[**test]) {
            sizes[*test].push(group.tests.len());
        }
    }
    let of_group = |group: &LocatedFault| {
        let size = group.tests.len();
        let is_alone = |test: &&usize| {
            let others = sizes[**test].iter().filter(|other| **other >= size);
            others.count() == 1
        };
        group.tests.iter().filter(is_alone).count()
    };
    groups.iter().map(of_group).collect()
}

/// Without those that the others have made superfluous, the smallest first.
fn needed(tests: &[DirectionTest], groups: &[LocatedFault], chosen: &[usize]) -> BTreeSet<usize> {
    let mut times = vec![0_usize; tests.len()];
    for group in chosen {
        for test in &groups[*group].tests {
            times[*test] += 1;
        }
    }
    let mut kept: BTreeSet<usize> = chosen.iter().copied().collect();
    for group in chosen.iter().rev() {
        let own = &groups[*group].tests;
        let is_low = |test: &&usize| tests[**test].state == DirectionState::Low;
        if own.iter().filter(is_low).all(|test| times[*test] > 1) {
            kept.remove(group);
            for test in own {
                times[*test] -= 1;
            }
        }
    }
    kept
}

/// Of two nodes it would be the same as the path between them; one of several rails is told apart from everything.
fn wide_parts(places: &[PortLocation], tests: &[DirectionTest]) -> BTreeSet<SuspectPart> {
    let mut nodes: HashMap<SuspectPart, BTreeSet<usize>> = HashMap::new();
    let mut rails: BTreeSet<u32> = BTreeSet::new();
    for test in tests {
        let (from, to) = (places[test.from], places[test.to]);
        let pair = [from.node, to.node];
        nodes
            .entry(SuspectPart::Everything)
            .or_default()
            .extend(pair);
        rails.extend([from.rail, to.rail]);
        if from.rail == to.rail {
            nodes
                .entry(SuspectPart::Rail(from.rail))
                .or_default()
                .extend(pair);
        }
    }
    let several = rails.len() > 1;
    let wide = nodes.into_iter().filter(|(_, nodes)| nodes.len() > 2);
    let wide = wide.map(|(part, _)| part);
    wide.filter(|part| *part == SuspectPart::Everything || several)
        .collect()
}

fn parts_of(places: &[PortLocation], test: &DirectionTest) -> impl Iterator<Item = SuspectPart> {
    let (from, to) = (places[test.from], places[test.to]);
    let rail = (from.rail == to.rail).then_some(SuspectPart::Rail(from.rail));
    let shared = from.cable == to.cable;
    let cables = [
        from.cable.map(SuspectPart::Cable),
        to.cable.filter(|_| !shared).map(SuspectPart::Cable),
        from.cable
            .map(|cable| SuspectPart::CableFrom(cable, from.node)),
        to.cable
            .filter(|_| !shared)
            .map(|cable| SuspectPart::CableTo(cable, to.node)),
    ];
    let path = SuspectPart::Path(test.from.min(test.to), test.from.max(test.to));
    let fixed = [
        SuspectPart::Everything,
        SuspectPart::Node(from.node),
        SuspectPart::Node(to.node),
        SuspectPart::NodeSending(from.node),
        SuspectPart::NodeReceiving(to.node),
        SuspectPart::Port(test.from),
        SuspectPart::Port(test.to),
        SuspectPart::PortSending(test.from),
        SuspectPart::PortReceiving(test.to),
        path,
        SuspectPart::PathOneWay(test.from, test.to),
        SuspectPart::Between(from.node.min(to.node), from.node.max(to.node)),
        SuspectPart::BetweenOneWay(from.node, to.node),
    ];
    fixed
        .into_iter()
        .chain(rail)
        .chain(cables.into_iter().flatten())
}

impl SuspectPart {
    /// It is about what lies between two nodes, not about one of them.
    pub fn is_path(self) -> bool {
        matches!(
            self,
            Self::Path(..) | Self::PathOneWay(..) | Self::Between(..) | Self::BetweenOneWay(..)
        )
    }

    /// The nodes that it is about; none where it is about all.
    pub fn nodes(self, places: &[PortLocation]) -> Vec<usize> {
        match self {
            Self::Everything | Self::Rail(_) => Vec::new(),
            Self::Node(node)
            | Self::NodeSending(node)
            | Self::NodeReceiving(node)
            | Self::CableFrom(_, node)
            | Self::CableTo(_, node) => vec![node],
            Self::Port(port) | Self::PortSending(port) | Self::PortReceiving(port) => {
                vec![places[port].node]
            }
            Self::Cable(cable) => {
                let of_cable = places.iter().filter(|place| place.cable == Some(cable));
                let nodes: BTreeSet<usize> = of_cable.map(|place| place.node).collect();
                nodes.into_iter().collect()
            }
            Self::Path(a, b) | Self::PathOneWay(a, b) => vec![places[a].node, places[b].node],
            Self::Between(a, b) | Self::BetweenOneWay(a, b) => vec![a, b],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Everybody to everybody on a switch, one rail, with those that are low.
    fn switched(
        nodes: usize,
        is_low: impl Fn(usize, usize) -> bool,
    ) -> (Vec<PortLocation>, Vec<DirectionTest>) {
        let place = |node| PortLocation {
            node,
            rail: 0,
            cable: Some(node),
        };
        let mut tests = Vec::new();
        for from in 0..nodes {
            for to in (0..nodes).filter(|to| *to != from) {
                let state = if is_low(from, to) {
                    DirectionState::Low
                } else {
                    DirectionState::Good
                };
                tests.push(DirectionTest { from, to, state });
            }
        }
        ((0..nodes).map(place).collect(), tests)
    }

    fn parts(found: &[LocatedFault]) -> Vec<&[SuspectPart]> {
        found.iter().map(|one| one.parts.as_slice()).collect()
    }

    #[test]
    fn a_slow_node_and_its_only_cable_cannot_be_told_apart() {
        let (places, tests) = switched(5, |from, to| from == 2 || to == 2);
        let found = locate(&places, &tests);
        assert_eq!(
            parts(&found),
            [[
                SuspectPart::Node(2),
                SuspectPart::Port(2),
                SuspectPart::Cable(2)
            ]]
        );
        assert_eq!(found[0].tests.len(), 8);
    }

    #[test]
    fn directions_are_told_apart() {
        let (places, tests) = switched(4, |from, to| from == 1 || (from, to) == (3, 2));
        let found = locate(&places, &tests);
        let sending = [
            SuspectPart::NodeSending(1),
            SuspectPart::PortSending(1),
            SuspectPart::CableFrom(1, 1),
        ];
        assert_eq!(
            parts(&found),
            [&sending[..], &[SuspectPart::PathOneWay(3, 2)]]
        );
    }

    #[test]
    fn two_nodes_and_their_cable_are_one_set() {
        let places = [0, 1].map(|node| PortLocation {
            node,
            rail: 0,
            cable: Some(7),
        });
        let low = |from, to| DirectionTest {
            from,
            to,
            state: DirectionState::Low,
        };
        let found = locate(&places, &[low(0, 1), low(1, 0)]);
        assert_eq!(found.len(), 1);
        for part in [
            SuspectPart::Node(0),
            SuspectPart::Node(1),
            SuspectPart::Cable(7),
            SuspectPart::Path(0, 1),
        ] {
            assert!(found[0].parts.contains(&part), "{part:?}");
        }
    }

    #[test]
    fn where_nothing_is_good_no_node_is_named() {
        let (places, tests) = switched(3, |_, _| true);
        assert_eq!(parts(&locate(&places, &tests)), [[SuspectPart::Everything]]);
    }
}
