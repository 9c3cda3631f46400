use std::collections::{BTreeMap, BTreeSet};

use crosstie_model::run::{MeasurementFigures, ProofMode, RdmaOperation};

use super::{stages::is_rdma_bandwidth, *};
use crate::simulated::{SimulatedFabric, SimulatedTopology};

fn switched(nodes: usize) -> SimulatedFabric {
    SimulatedFabric {
        shape: SimulatedTopology::Switched {
            nodes,
            leaf: nodes,
            oversubscription: 1,
        },
        faults: Vec::new(),
        seed: 1,
    }
}

/// Every step to the end, with a node that goes away after so many of them.
fn run(
    fabric: &SimulatedFabric,
    mode: ProofMode,
    dies: Option<(usize, usize)>,
) -> (ProofStateMachine, Vec<TestBatch>) {
    let mut campaign = ProofStateMachine::new(fabric.header(mode));
    let mut steps = Vec::new();
    let mut elapsed = 0;
    while let Some(step) = campaign.next(elapsed) {
        elapsed += u64::from(step.milliseconds);
        let results = fabric.measure(campaign.board(), &step);
        campaign.record(&step, results);
        steps.push(step);
        if let Some((node, after)) = dies
            && steps.len() == after
        {
            campaign.drop_node(LostNode {
                host: SimulatedFabric::host(node),
                why: "the session ended".to_owned(),
                offset_milliseconds: elapsed,
            });
        }
        assert!(steps.len() < 10_000, "no end");
    }
    (campaign, steps)
}

fn kinds(steps: &[TestBatch]) -> Vec<(TestKind, TestConcurrency)> {
    let mut kinds: Vec<_> = steps.iter().map(|step| (step.kind, step.phase)).collect();
    kinds.dedup();
    kinds
}

#[test]
fn full_mode_has_its_order() {
    const WRITE: TestKind = TestKind::RdmaBandwidth(RdmaOperation::Write);
    let fabric = SimulatedFabric {
        shape: SimulatedTopology::Pair { rails: 2 },
        ..switched(2)
    };
    let (_, steps) = run(&fabric, ProofMode::Full, None);
    let expected = [
        (TestKind::Reachability, TestConcurrency::Round),
        (TestKind::TcpBandwidth, TestConcurrency::Round),
        (TestKind::RdmaLatency, TestConcurrency::Round),
        (WRITE, TestConcurrency::Round),
        (WRITE, TestConcurrency::AllRails),
        (WRITE, TestConcurrency::Bidirectional),
    ];
    assert_eq!(kinds(&steps), expected);
    let (_, steps) = run(&switched(4), ProofMode::Full, None);
    assert_eq!(
        kinds(&steps).last(),
        Some(&(WRITE, TestConcurrency::Incast))
    );
    let incast = &steps.last().unwrap().tests;
    assert_eq!(incast.len(), 3);
    let numbers: BTreeSet<u32> = steps.iter().map(|step| step.round).collect();
    assert_eq!(numbers.len(), steps.len(), "a step has a number of its own");
}

#[test]
fn survivors_of_a_dead_node_meet_all_the_same() {
    for after in [1, 4, 9, 20] {
        let (campaign, steps) = run(&switched(8), ProofMode::Full, Some((3, after)));
        let late = steps.iter().skip(after).flat_map(|step| &step.tests);
        let host = |end: usize| campaign.board().host(end).to_owned();
        for test in late {
            assert!(host(test.from) != "node-3" && host(test.to) != "node-3");
        }
        let met: BTreeSet<(String, String)> = campaign
            .run()
            .measurements
            .iter()
            .filter(|one| is_rdma_bandwidth(one))
            .map(|one| (one.from.host.clone(), one.to.host.clone()))
            .filter(|(from, to)| from != "node-3" && to != "node-3")
            .collect();
        assert_eq!(met.len(), 7 * 6, "after {after}");
    }
}

#[test]
fn a_soak_lasts_as_long_as_it_was_asked_to() {
    let (campaign, _) = run(&switched(4), ProofMode::Soak { seconds: 600 }, None);
    let soaked = campaign
        .run()
        .measurements
        .iter()
        .filter(|one| one.phase == TestConcurrency::Soak);
    let mut rounds: BTreeMap<u32, u64> = BTreeMap::new();
    for one in soaked {
        if let MeasurementOutcome::Measured(MeasurementFigures::Bandwidth(figures)) = &one.outcome {
            rounds.insert(one.round, figures.nanoseconds);
        }
    }
    assert_eq!(rounds.values().sum::<u64>(), 600_000_000_000);
    let (campaign, _) = run(
        &switched(4),
        ProofMode::Soak { seconds: 600 },
        Some((1, 60)),
    );
    assert!(
        campaign
            .run()
            .measurements
            .iter()
            .any(|one| one.phase == TestConcurrency::Soak)
    );
}

#[test]
fn a_cluster_of_one_or_none_is_done_at_once() {
    for nodes in [0, 1] {
        let (campaign, steps) = run(&switched(nodes), ProofMode::Full, None);
        assert!(steps.is_empty() && campaign.run().measurements.is_empty());
        assert_eq!(run(&switched(nodes), ProofMode::Quick, None).1, []);
    }
}
