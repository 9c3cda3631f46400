//! A proof of a cluster: the steps of a campaign on an engine, and every measurement on disk before the next step.
//!
//! ```text
//! header ─▶ Campaign ─▶ step ─▶ Engine ─▶ results ─▶ RunFile, Campaign ─▶ next step … ─▶ end
//! ```
//!
//! What measures is behind [`TestBatchRunner`]. What is known when the run is stopped, or a node goes away, is in the file.

use crosstie_grade::proof::{ProofStateMachine, TestBatch, TestEndTable, TestResult};
use crosstie_model::run::{
    LostNode, MeasurementOutcome, RunEnd, RunEndReason, RunHeader, StoredRun,
};

use super::{RunFile, RunFileError};

/// What measures.
pub(super) trait TestBatchRunner {
    /// Every test of the step at the same time. It has its own deadlines: it always comes back.
    fn measure(&mut self, board: &TestEndTable, step: &TestBatch) -> TestBatchOutcome;
}

/// What came of a step.
#[derive(Debug, Default)]
pub(super) struct TestBatchOutcome {
    /// In the order of the step's tests. A test that is missing failed.
    pub(super) results: Vec<TestResult>,
    /// Nodes that cannot be reached any more.
    pub(super) lost: Vec<LostNode>,
}

/// What a person sees meanwhile.
#[derive(Debug, Clone, Copy)]
pub(super) struct ProveProgress<'a> {
    pub(super) board: &'a TestEndTable,
    pub(super) step: &'a TestBatch,
    /// Known to come after this one; there may be more once these have shown something.
    pub(super) steps_left: usize,
}

/// Time and the person: what a proof needs from outside.
pub(super) trait ProofEnvironment {
    /// Since the run began.
    fn elapsed_milliseconds(&self) -> u64;
    /// A person has asked to stop.
    fn is_stopped(&self) -> bool;
    fn tell(&self, progress: ProveProgress);
}

/// To the end, or until it is stopped. What was measured is in the file in either case.
pub(super) fn run_proof(
    header: RunHeader,
    engine: &mut dyn TestBatchRunner,
    file: &RunFile,
    surroundings: &dyn ProofEnvironment,
) -> Result<StoredRun, RunFileError> {
    let mut campaign = ProofStateMachine::new(header);
    let reason = loop {
        if surroundings.is_stopped() {
            break RunEndReason::Interrupted;
        }
        let elapsed = surroundings.elapsed_milliseconds();
        let Some(step) = campaign.next(elapsed) else {
            break RunEndReason::Finished;
        };
        surroundings.tell(ProveProgress {
            board: campaign.board(),
            step: &step,
            steps_left: campaign.steps_left(),
        });
        let TestBatchOutcome { mut results, lost } = engine.measure(campaign.board(), &step);
        while results.len() < step.tests.len() {
            results.push(missing(elapsed));
        }
        file.record(campaign.record(&step, results), &lost)?;
        for node in lost {
            campaign.drop_node(node);
        }
    };
    let end = RunEnd {
        reason,
        offset_milliseconds: surroundings.elapsed_milliseconds(),
    };
    file.end(end.clone())?;
    campaign.end(end);
    Ok(campaign.into_run())
}

fn missing(offset_milliseconds: u64) -> TestResult {
    TestResult {
        outcome: MeasurementOutcome::Failed {
            error: "the engine gave no result".to_owned(),
        },
        counters: crosstie_model::run::CounterGrowth::default(),
        doubts: Vec::new(),
        offset_milliseconds,
    }
}
