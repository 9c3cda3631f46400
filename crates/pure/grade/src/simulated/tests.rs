use std::collections::BTreeSet;

use crosstie_model::run::StoredRun;
use proptest::prelude::*;

use super::*;
use crate::{
    attribute::{
        FaultKind, faults,
        observe::{BandwidthObservations, decide},
        untested,
    },
    graded::GradedRun,
    locate::{LocatedFault, SuspectPart},
};

/// Directions between nodes.
type Cells = BTreeSet<(usize, usize)>;

fn node_of(host: &str) -> usize {
    host.trim_start_matches("node-").parse().unwrap()
}

/// The tested directions that a fault slows.
fn cells_of(fault: SimulatedFault, tested: &Cells) -> Cells {
    let alone = |fault| SimulatedFabric {
        shape: SimulatedTopology::Pair { rails: 1 },
        faults: vec![fault],
        seed: 0,
    };
    let fabric = alone(fault);
    let slow = tested
        .iter()
        .filter(|(from, to)| fabric.alone(*from, *to) < 0.8 * ceiling());
    slow.copied().collect()
}

struct Proven {
    tested: Cells,
    hardware: Vec<(Vec<SuspectPart>, Cells)>,
    contended: Cells,
}

fn proven(run: &StoredRun) -> Proven {
    let graded = GradedRun::new(run);
    let observed = BandwidthObservations::new(&graded);
    let decided = decide(&observed);
    let direction = |cell: &usize| {
        let cell = observed.cells[*cell];
        (
            node_of(&observed.ends[cell.from].host),
            node_of(&observed.ends[cell.to].host),
        )
    };
    // Places are counted in the order of the cells: back to the fabric's own numbers.
    let node = |place: usize| node_of(observed.hosts[place]);
    let end = |place: usize| node_of(&observed.ends[place].host);
    let renamed = |part: &SuspectPart| match *part {
        SuspectPart::Node(at) => SuspectPart::Node(node(at)),
        SuspectPart::NodeSending(at) => SuspectPart::NodeSending(node(at)),
        SuspectPart::NodeReceiving(at) => SuspectPart::NodeReceiving(node(at)),
        SuspectPart::Path(a, b) => SuspectPart::Path(end(a).min(end(b)), end(a).max(end(b))),
        SuspectPart::PathOneWay(a, b) => SuspectPart::PathOneWay(end(a), end(b)),
        // A slow path of the simulated fabric is slow on all rails.
        SuspectPart::Between(a, b) => SuspectPart::Path(node(a).min(node(b)), node(a).max(node(b))),
        SuspectPart::BetweenOneWay(a, b) => SuspectPart::PathOneWay(node(a), node(b)),
        part => part,
    };
    let group = |group: &LocatedFault| {
        let parts = group.parts.iter().map(renamed).collect();
        (parts, group.tests.iter().map(direction).collect())
    };
    Proven {
        tested: (0..observed.cells.len())
            .map(|cell| direction(&cell))
            .collect(),
        hardware: decided.hardware.iter().map(group).collect(),
        contended: decided.contended.iter().map(direction).collect(),
    }
}

fn part_of(fault: SimulatedFault) -> SuspectPart {
    match fault {
        SimulatedFault::SlowNode { node, .. } => SuspectPart::Node(node),
        SimulatedFault::SlowSending { node, .. } => SuspectPart::NodeSending(node),
        SimulatedFault::SlowReceiving { node, .. } => SuspectPart::NodeReceiving(node),
        SimulatedFault::SlowPath { a, b, .. } => SuspectPart::Path(a.min(b), a.max(b)),
        SimulatedFault::SlowPathOneWay { from, to, .. } => SuspectPart::PathOneWay(from, to),
    }
}

/// Exactly the faults that are there, up to what no run of pairs can tell apart: a fault that others hide, and one that
/// several others make up together.
fn assert_exact(fabric: &SimulatedFabric) {
    let (run, _) = fabric.prove(ProofMode::Full);
    let proven = proven(&run);
    let injected: Vec<(SimulatedFault, Cells)> = fabric
        .faults
        .iter()
        .map(|fault| (*fault, cells_of(*fault, &proven.tested)))
        .collect();
    let low: Cells = injected
        .iter()
        .flat_map(|(_, cells)| cells.iter().copied())
        .collect();
    let named: Cells = proven
        .hardware
        .iter()
        .flat_map(|(_, cells)| cells.iter().copied())
        .collect();
    assert_eq!(
        named, low,
        "{fabric:?}: what is slow is explained, and nothing else is"
    );
    assert!(
        proven.hardware.len()
            <= injected
                .iter()
                .filter(|(_, cells)| !cells.is_empty())
                .count()
    );
    for (parts, cells) in &proven.hardware {
        let inside = injected.iter().filter(|(_, own)| own.is_subset(cells));
        let made_up: Cells = inside.flat_map(|(_, own)| own.iter().copied()).collect();
        // A cell of two faults may belong to either.
        let rest: Cells = cells.difference(&made_up).copied().collect();
        let explained = injected
            .iter()
            .any(|(_, own)| !own.is_empty() && rest.is_subset(own));
        assert!(
            rest.is_empty() || explained,
            "{fabric:?}: {parts:?} was not injected"
        );
    }
    for (index, (fault, cells)) in injected.iter().enumerate() {
        let others = injected
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != index);
        let others: Cells = others
            .flat_map(|(_, (_, cells))| cells.iter().copied())
            .collect();
        let hidden = cells.is_subset(&others);
        let exactly = proven.hardware.iter().find(|(_, named)| named == cells);
        let merged = proven
            .hardware
            .iter()
            .any(|(_, named)| named.len() > cells.len() && cells.is_subset(named));
        match exactly {
            Some((parts, _)) => {
                let whole = parts.first() == Some(&SuspectPart::Everything);
                assert!(
                    whole || parts.contains(&part_of(*fault)),
                    "{fabric:?}: {fault:?} in {parts:?}"
                );
            }
            None => assert!(hidden || merged, "{fabric:?}: {fault:?} is not named"),
        }
    }
    assert!(proven.contended.is_empty(), "{fabric:?}: nothing is shared");
}

/// Whether a node without a fault could be blamed as well: all that it sends, or receives, is slow by the faults of several
/// others. On a ring, nodes that receive slowly on both sides of one make it look like a slow sender.
fn has_another_explanation(fabric: &SimulatedFabric) -> bool {
    let (run, _) = fabric.prove(ProofMode::Full);
    let tested = proven(&run).tested;
    let injected: Vec<Cells> = fabric
        .faults
        .iter()
        .map(|fault| cells_of(*fault, &tested))
        .collect();
    let low: Cells = injected.iter().flatten().copied().collect();
    let percent = 50;
    let blamed = (0..fabric.nodes()).flat_map(|node| {
        [
            SimulatedFault::SlowSending { node, percent },
            SimulatedFault::SlowReceiving { node, percent },
        ]
    });
    let mut blamed = blamed.map(|fault| cells_of(fault, &tested));
    blamed.any(|cells| {
        cells.len() > 1 && cells.is_subset(&low) && !injected.iter().any(|own| cells.is_subset(own))
    })
}

fn fault(nodes: usize) -> impl Strategy<Value = SimulatedFault> {
    let pair = (0..nodes, 1..nodes).prop_map(move |(a, step)| (a, (a + step) % nodes));
    let percent = 15_u32..70;
    prop_oneof![
        (0..nodes, percent.clone())
            .prop_map(|(node, percent)| SimulatedFault::SlowNode { node, percent }),
        (0..nodes, percent.clone())
            .prop_map(|(node, percent)| SimulatedFault::SlowSending { node, percent }),
        (0..nodes, percent.clone())
            .prop_map(|(node, percent)| SimulatedFault::SlowReceiving { node, percent }),
        (pair.clone(), percent.clone()).prop_map(|((a, b), percent)| SimulatedFault::SlowPath {
            a,
            b,
            percent
        }),
        (pair, percent).prop_map(|((from, to), percent)| SimulatedFault::SlowPathOneWay {
            from,
            to,
            percent
        }),
    ]
}

fn shape(most: usize) -> impl Strategy<Value = SimulatedTopology> {
    prop_oneof![
        (1_u32..3).prop_map(|rails| SimulatedTopology::Pair { rails }),
        (3..most.min(24)).prop_map(|nodes| SimulatedTopology::Ring { nodes }),
        (3..most).prop_map(|nodes| SimulatedTopology::Switched {
            nodes,
            leaf: nodes,
            oversubscription: 1
        }),
    ]
}

fn fabric(most: usize) -> impl Strategy<Value = SimulatedFabric> {
    shape(most).prop_flat_map(|shape| {
        let probe = SimulatedFabric {
            shape,
            faults: Vec::new(),
            seed: 0,
        };
        let nodes = probe.nodes();
        let faults = prop::collection::vec(fault(nodes), 0..(nodes / 3).clamp(2, 9));
        (faults, any::<u64>()).prop_map(move |(faults, seed)| SimulatedFabric {
            faults,
            seed,
            ..probe.clone()
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn full_mode_names_exactly_what_is_wrong(fabric in fabric(28)) {
        prop_assume!(!has_another_explanation(&fabric));
        assert_exact(&fabric);
    }

    #[test]
    fn contention_is_told_from_hardware(
        leaf in 2_usize..6,
        leaves in 2_usize..5,
        slow in prop::collection::vec((0_usize..30, 15_u32..70), 0..3),
        seed in any::<u64>(),
    ) {
        let nodes = leaf * leaves;
        let faults: Vec<SimulatedFault> = slow.iter().map(|(node, percent)| SimulatedFault::SlowNode { node: node % nodes, percent: *percent }).collect();
        let fabric = SimulatedFabric {
            shape: SimulatedTopology::Switched { nodes, leaf, oversubscription: 2 },
            faults,
            seed,
        };
        let bad: BTreeSet<usize> = fabric.faults.iter().map(|fault| match fault {
            SimulatedFault::SlowNode { node, .. } => *node,
            _ => unreachable!(),
        }).collect();
        // Slow nodes do not fill an uplink: enough good ones have to cross at once for anything to be contended. Two good ones
        // below one leaf are what others are compared with.
        prop_assume!(bad.len() * 2 < leaf);
        let (run, _) = fabric.prove(ProofMode::Full);
        let proven = proven(&run);
        for (parts, cells) in &proven.hardware {
            let named: Vec<usize> = parts.iter().filter_map(|part| match part {
                SuspectPart::Node(node) => Some(*node),
                _ => None,
            }).collect();
            prop_assert!(named.iter().any(|node| bad.contains(node)), "{parts:?} {cells:?} in {fabric:?}");
        }
        let named: BTreeSet<usize> = proven.hardware.iter().flat_map(|(parts, _)| parts).filter_map(|part| match part {
            SuspectPart::Node(node) => Some(*node),
            _ => None,
        }).collect();
        prop_assert!(bad.is_subset(&named), "{named:?} in {fabric:?}");
        prop_assert!(!proven.contended.is_empty());
        let graded = GradedRun::new(&run);
        prop_assert!(faults_of(&graded).contains(&FaultKind::FabricContended));
    }

    #[test]
    fn quick_mode_finds_up_to_a_quarter_of_bad_nodes_in_two_rounds(
        half in 4_usize..80,
        picks in prop::collection::vec((any::<prop::sample::Index>(), 15_u32..70), 0..40),
        seed in any::<u64>(),
    ) {
        assert_quick(half * 2, &picks.iter().map(|(pick, percent)| (pick.index(half * 2), *percent)).collect::<Vec<_>>(), seed);
    }
}

fn faults_of(graded: &GradedRun) -> BTreeSet<FaultKind> {
    faults(graded).iter().map(|fault| fault.kind).collect()
}

fn assert_quick(nodes: usize, slow: &[(usize, u32)], seed: u64) {
    let mut bad: BTreeSet<usize> = BTreeSet::new();
    let mut injected = Vec::new();
    for (node, percent) in slow {
        if bad.len() < nodes / 4 && bad.insert(*node) {
            injected.push(SimulatedFault::SlowNode {
                node: *node,
                percent: *percent,
            });
        }
    }
    let fabric = SimulatedFabric {
        shape: SimulatedTopology::Switched {
            nodes,
            leaf: nodes,
            oversubscription: 1,
        },
        faults: injected,
        seed,
    };
    let (run, steps) = fabric.prove(ProofMode::Quick);
    let proven = proven(&run);
    let named: BTreeSet<usize> = proven
        .hardware
        .iter()
        .map(|(parts, _)| match parts.first() {
            Some(SuspectPart::Node(node)) => *node,
            other => panic!("{other:?} in {fabric:?}"),
        })
        .collect();
    assert_eq!(named, bad);
    // A round is two steps: there and back.
    assert!(steps <= 4, "{steps} steps");
    let untested = untested(&run, 3);
    let nodes = nodes as u64;
    assert_eq!(untested.paths, nodes * (nodes - 1) / 2);
    assert_eq!(
        untested.untested,
        untested.paths - proven.tested.len() as u64 / 2
    );
    assert_eq!(
        untested.examples.len(),
        3.min(usize::try_from(untested.untested).unwrap())
    );
}

#[test]
fn quick_mode_on_four_thousand_nodes() {
    let slow: Vec<(usize, u32)> = (0..1024).map(|index| (index * 2503 % 4096, 40)).collect();
    assert_quick(4096, &slow, 7);
}

#[test]
fn full_mode_on_256_nodes() {
    let shape = SimulatedTopology::Switched {
        nodes: 256,
        leaf: 256,
        oversubscription: 1,
    };
    let mut faults: Vec<SimulatedFault> = (0..12)
        .map(|index| SimulatedFault::SlowNode {
            node: index * 21,
            percent: 50,
        })
        .collect();
    faults.extend([
        SimulatedFault::SlowSending {
            node: 5,
            percent: 60,
        },
        SimulatedFault::SlowReceiving {
            node: 9,
            percent: 30,
        },
        SimulatedFault::SlowPath {
            a: 100,
            b: 201,
            percent: 55,
        },
        SimulatedFault::SlowPathOneWay {
            from: 70,
            to: 71,
            percent: 20,
        },
    ]);
    assert_exact(&SimulatedFabric {
        shape,
        faults,
        seed: 3,
    });
}

#[test]
fn a_good_node_between_two_bad_ones_is_not_named() {
    let bad = [12, 14].map(|node| SimulatedFault::SlowReceiving { node, percent: 15 });
    let worse = [3, 5, 7].map(|node| SimulatedFault::SlowNode { node, percent: 40 });
    assert_exact(&SimulatedFabric {
        shape: SimulatedTopology::Ring { nodes: 18 },
        faults: bad.into_iter().chain(worse).collect(),
        seed: 0,
    });
}

#[test]
fn where_no_pair_is_good_quick_mode_asks_for_full() {
    let faults = (0..8)
        .map(|node| SimulatedFault::SlowNode { node, percent: 50 })
        .collect();
    let shape = SimulatedTopology::Switched {
        nodes: 8,
        leaf: 8,
        oversubscription: 1,
    };
    let fabric = SimulatedFabric {
        shape,
        faults,
        seed: 1,
    };
    let (run, _) = fabric.prove(ProofMode::Quick);
    let graded = GradedRun::new(&run);
    let found = faults_in(&graded);
    let [(kind, advice)] = found.as_slice() else {
        panic!("{found:?}")
    };
    assert_eq!(*kind, FaultKind::FabricContended);
    assert!(advice.contains("contended, run --full"), "{advice}");
}

fn faults_in(graded: &GradedRun) -> Vec<(FaultKind, String)> {
    let roots = faults(graded)
        .into_iter()
        .filter(|fault| fault.because_of.is_none());
    roots
        .map(|fault| (fault.kind, fault.advice.unwrap_or_default()))
        .collect()
}

#[test]
fn one_fault_has_one_root() {
    let switched = |faults: Vec<SimulatedFault>| SimulatedFabric {
        shape: SimulatedTopology::Switched {
            nodes: 4,
            leaf: 4,
            oversubscription: 1,
        },
        faults,
        seed: 5,
    };
    let cases = [
        (
            SimulatedFault::SlowNode {
                node: 2,
                percent: 40,
            },
            FaultKind::NodeSlow,
        ),
        (
            SimulatedFault::SlowSending {
                node: 2,
                percent: 40,
            },
            FaultKind::NodeSlow,
        ),
        (
            SimulatedFault::SlowPath {
                a: 1,
                b: 3,
                percent: 40,
            },
            FaultKind::PairSlow,
        ),
        (
            SimulatedFault::SlowPathOneWay {
                from: 1,
                to: 3,
                percent: 40,
            },
            FaultKind::PairSlow,
        ),
    ];
    for (fault, expected) in cases {
        let (run, _) = switched(vec![fault]).prove(ProofMode::Full);
        let graded = GradedRun::new(&run);
        let roots: Vec<FaultKind> = faults_in(&graded)
            .into_iter()
            .map(|(kind, _)| kind)
            .collect();
        assert_eq!(roots, [expected], "{fault:?}: {:#?}", faults(&graded));
    }
    let (run, _) = switched(Vec::new()).prove(ProofMode::Full);
    assert_eq!(faults(&GradedRun::new(&run)), [], "nothing is wrong");
}
