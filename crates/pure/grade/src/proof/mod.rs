//! What is measured next. A state machine: it is asked for a step, told what came of it, and does nothing by itself.
//!
//! ```text
//! quick   reachability ▸ every port once ▸ suspects × ports that passed ▸ low pairs whose ports both passed, alone
//! full    reachability ▸ every pair, in rounds ▸ low ones alone ▸ all rails ▸ both directions ▸ many to one
//! soak    full ▸ rounds until the time is up
//! ```

mod board;
mod quick;
mod rerun;
mod stages;
#[cfg(test)]
mod tests;

use std::collections::{HashSet, VecDeque};

use crosstie_model::run::{
    CounterGrowth, LostNode, MeasuredEnd, Measurement, MeasurementOutcome, ProofMode, RunEnd,
    RunHeader, StoredRun, TestConcurrency, TestKind,
};

use crate::schedule::{self, PortPair};

pub use board::TestEndTable;

/// Tests that begin together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestBatch {
    pub round: u32,
    pub kind: TestKind,
    pub phase: TestConcurrency,
    pub tests: Vec<PlannedTest>,
    /// How long they measure.
    pub milliseconds: u32,
}

/// From one end to another, by their places on the board.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlannedTest {
    pub from: usize,
    pub to: usize,
    pub size: Option<u64>,
    pub queue_pairs: Option<u32>,
}

/// What came of one test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestResult {
    pub outcome: MeasurementOutcome,
    pub counters: CounterGrowth,
    pub doubts: Vec<String>,
    /// When it began, since the run began.
    pub offset_milliseconds: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Reach,
    Rounds,
    Suspects(usize),
    Reruns,
    Rails,
    Duplex,
    Incast,
    Soak,
    Done,
}

/// One proof of a cluster, from its header to its last step.
#[derive(Debug)]
pub struct ProofStateMachine {
    run: StoredRun,
    board: TestEndTable,
    stage: Stage,
    queue: VecDeque<TestBatch>,
    /// Pairs by round that are still to come.
    rounds: VecDeque<Vec<PortPair>>,
    /// Cycled through by a soak.
    soak: VecDeque<Vec<PortPair>>,
    soak_began: Option<u64>,
    /// Where the steps' numbers are.
    round: u32,
    lost: HashSet<String>,
}

impl ProofStateMachine {
    pub fn new(header: RunHeader) -> Self {
        let board = TestEndTable::new(&header);
        Self {
            run: StoredRun::new(header),
            board,
            stage: Stage::Reach,
            queue: VecDeque::new(),
            rounds: VecDeque::new(),
            soak: VecDeque::new(),
            soak_began: None,
            round: 0,
            lost: HashSet::new(),
        }
    }

    /// What was measured so far.
    pub fn run(&self) -> &StoredRun {
        &self.run
    }

    pub fn into_run(self) -> StoredRun {
        self.run
    }

    pub fn board(&self) -> &TestEndTable {
        &self.board
    }

    /// What to measure now; `None` when all is done. The time is that since the run began.
    pub fn next(&mut self, elapsed_milliseconds: u64) -> Option<TestBatch> {
        loop {
            if let Some(step) = self.queue.pop_front() {
                return Some(step);
            }
            if let Some(round) = self.rounds.pop_front() {
                self.queue_round(&round);
                continue;
            }
            if self.stage == Stage::Done {
                return None;
            }
            self.enter_next_stage(elapsed_milliseconds);
        }
    }

    /// Steps that are known to come; there may be more once these have shown something.
    pub fn steps_left(&self) -> usize {
        let a_round = self
            .kinds()
            .iter()
            .map(|(_, directions)| *directions)
            .sum::<usize>();
        self.queue.len() + self.rounds.len() * a_round.max(1)
    }

    /// What came of a step, in the order of its tests. Results beyond them are not believed.
    pub fn record(&mut self, step: &TestBatch, results: Vec<TestResult>) -> &[Measurement] {
        let before = self.run.measurements.len();
        for (test, result) in step.tests.iter().zip(results) {
            let measurement = self.measurement(step, *test, result);
            self.run.measurements.push(measurement);
        }
        &self.run.measurements[before..]
    }

    /// A node has gone: what it was part of is dropped, and what is left is scheduled again.
    pub fn drop_node(&mut self, lost: LostNode) {
        if !self.lost.insert(lost.host.clone()) {
            return;
        }
        self.run.lost.push(lost);
        let (board, gone) = (&self.board, &self.lost);
        let is_alive = |end: usize| !gone.contains(board.host(end));
        for step in &mut self.queue {
            step.tests
                .retain(|test| is_alive(test.from) && is_alive(test.to));
        }
        self.queue.retain(|step| !step.tests.is_empty());
        let left = self.rounds.drain(..).flatten();
        let left: Vec<PortPair> = left.filter(|(a, b)| is_alive(*a) && is_alive(*b)).collect();
        let packed = schedule::rounds(&board.shared, &left);
        self.rounds = in_pairs(&left, packed).into();
    }

    pub fn end(&mut self, end: RunEnd) {
        self.run.end = Some(end);
    }

    fn measurement(&self, step: &TestBatch, test: PlannedTest, result: TestResult) -> Measurement {
        let end = |place: usize| -> MeasuredEnd { self.board.ends[place].clone() };
        Measurement {
            kind: step.kind,
            phase: step.phase,
            round: step.round,
            from: end(test.from),
            to: end(test.to),
            offset_milliseconds: result.offset_milliseconds,
            size: test.size,
            queue_pairs: test.queue_pairs,
            outcome: result.outcome,
            counters: result.counters,
            doubts: result.doubts,
        }
    }

    fn is_alive(&self, end: usize) -> bool {
        !self.lost.contains(self.board.host(end))
    }

    fn is_quick(&self) -> bool {
        self.run.header.options.mode == ProofMode::Quick
    }
}

fn in_pairs(pairs: &[PortPair], rounds: Vec<Vec<usize>>) -> Vec<Vec<PortPair>> {
    let rounds = rounds.into_iter();
    rounds
        .map(|round| round.into_iter().map(|at| pairs[at]).collect())
        .collect()
}
