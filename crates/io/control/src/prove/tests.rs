use std::cell::Cell;

use crosstie_grade::simulated::{SimulatedFabric, SimulatedFault, SimulatedTopology};
use crosstie_model::run::{ProofMode, ReadRunError, RunEndReason};
use crosstie_reach::EndOnSignal;

use super::{
    driver::{ProofEnvironment, ProveProgress, TestBatchOutcome, TestBatchRunner, run_proof},
    *,
};
use crate::runs::{RunsError, read_run};

struct Simulated {
    fabric: SimulatedFabric,
    steps: usize,
    /// A node that goes away in a step.
    dies: Option<(usize, usize)>,
}

impl TestBatchRunner for Simulated {
    fn measure(&mut self, board: &TestEndTable, step: &TestBatch) -> TestBatchOutcome {
        self.steps += 1;
        let dead = self.dies.filter(|(_, after)| self.steps == *after);
        TestBatchOutcome {
            results: if dead.is_some() {
                Vec::new()
            } else {
                self.fabric.measure(board, step)
            },
            lost: dead
                .map(|(node, _)| LostNode {
                    host: SimulatedFabric::host(node),
                    why: "the session ended".to_owned(),
                    offset_milliseconds: 1,
                })
                .into_iter()
                .collect(),
        }
    }
}

/// Stopped after so many steps.
struct Stopped {
    steps: Cell<u64>,
    after: u64,
}

impl ProofEnvironment for Stopped {
    fn elapsed_milliseconds(&self) -> u64 {
        self.steps.get() * 1000
    }
    fn is_stopped(&self) -> bool {
        self.steps.get() >= self.after
    }
    fn tell(&self, progress: ProveProgress) {
        assert!(!progress.step.tests.is_empty());
        self.steps.set(self.steps.get() + 1);
    }
}

fn switched_four() -> SimulatedFabric {
    SimulatedFabric {
        shape: SimulatedTopology::Switched {
            nodes: 4,
            leaf: 4,
            oversubscription: 1,
        },
        faults: vec![SimulatedFault::SlowNode {
            node: 1,
            percent: 50,
        }],
        seed: 1,
    }
}

fn proven(after: u64, dies: Option<(usize, usize)>) -> (StoredRun, StoredRun) {
    let fabric = switched_four();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs/1.jsonl");
    let header = fabric.header(ProofMode::Full);
    let file = RunFile::begin(&path, header.clone()).unwrap();
    let other = RunFile::begin(&path, header.clone());
    assert!(other.is_err(), "never over another");
    let mut engine = Simulated {
        fabric,
        steps: 0,
        dies,
    };
    let surroundings = Stopped {
        steps: Cell::new(0),
        after,
    };
    let run = run_proof(header, &mut engine, &file, &surroundings).unwrap();
    (run, read_run(&path).unwrap())
}

#[test]
fn the_file_is_the_run() {
    let (run, kept) = proven(u64::MAX, None);
    assert_eq!(run, kept);
    assert!(kept.is_finished());
}

#[test]
fn what_was_measured_before_a_stop_is_there() {
    let (run, kept) = proven(4, None);
    assert_eq!(run, kept);
    assert_eq!(kept.end.unwrap().reason, RunEndReason::Interrupted);
    // Reachability of all, and three steps of two pairs each.
    assert_eq!(kept.measurements.len(), 12 + 3 * 2);
}

/// A signal comes in the middle of a step: whoever measures is about to end, and the file has an end.
#[test]
fn a_signal_gives_the_run_its_end() {
    struct Interrupted<'a>(Simulated, &'a RunFile);
    impl TestBatchRunner for Interrupted<'_> {
        fn measure(&mut self, board: &TestEndTable, step: &TestBatch) -> TestBatchOutcome {
            let outcome = self.0.measure(board, step);
            if self.0.steps == 3 {
                EndOnSignal::end(self.1);
            }
            outcome
        }
    }
    let fabric = switched_four();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("1.jsonl");
    let header = fabric.header(ProofMode::Full);
    let file = RunFile::begin(&path, header.clone()).unwrap();
    let engine = Simulated {
        fabric,
        steps: 0,
        dies: None,
    };
    let surroundings = Stopped {
        steps: Cell::new(0),
        after: u64::MAX,
    };
    run_proof(
        header,
        &mut Interrupted(engine, &file),
        &file,
        &surroundings,
    )
    .unwrap();
    let kept = read_run(&path).unwrap();
    assert_eq!(kept.end.unwrap().reason, RunEndReason::Interrupted);
    // Reachability of all, and one step of two pairs; of the third nothing, nor of what came after it.
    assert_eq!(kept.measurements.len(), 12 + 2);
}

#[test]
fn a_node_that_dies_is_kept_and_the_others_go_on() {
    let (run, kept) = proven(u64::MAX, Some((2, 5)));
    assert_eq!(run, kept);
    assert_eq!(kept.lost[0].host, "node-2");
    let failed = kept.measurements.iter().filter(|one| one.error().is_some());
    assert_eq!(
        failed.count(),
        2,
        "the step in which it died has no results"
    );
    assert!(kept.is_finished());
}

#[test]
fn a_file_that_is_none_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x");
    std::fs::write(&path, "{}\n").unwrap();
    let error = read_run(&path).unwrap_err();
    assert!(matches!(
        error,
        RunsError::Parse {
            source: ReadRunError::Foreign,
            ..
        }
    ));
}
