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
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};

use crosstie_model::run::{
    CounterGrowth, End, Header, LostNode, MeasuredEnd, Measurement, Mode, Operation, Outcome,
    Phase, Run, TestKind,
};

use crate::{
    graded::GradedRun,
    schedule::{self, Pair},
    verdict::Verdict,
};

pub use board::Board;

/// Tests that begin together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    pub round: u32,
    pub kind: TestKind,
    pub phase: Phase,
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
    pub outcome: Outcome,
    pub counters: CounterGrowth,
    pub doubts: Vec<String>,
    /// When it began, since the run began.
    pub offset_milliseconds: u64,
}

/// Runs of the same step in a row are no surprise; this many bound a run with suspects that find no partner.
const MOST_SUSPECT_ROUNDS: usize = 4;
/// With more pairs, both directions at once are not measured: they are shown, not graded.
const MOST_DUPLEX_PAIRS: usize = 64;
/// Of a soak: so long that a step is a line of a report, so short that little is lost with it.
const SOAK_MILLISECONDS: u32 = 60_000;

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
pub struct Campaign {
    run: Run,
    board: Board,
    stage: Stage,
    queue: VecDeque<Step>,
    /// Pairs by round that are still to come.
    rounds: VecDeque<Vec<Pair>>,
    /// Cycled through by a soak.
    soak: Vec<Vec<Pair>>,
    /// Where the steps' numbers are.
    round: u32,
    lost: HashSet<String>,
}

impl Campaign {
    pub fn new(header: Header) -> Self {
        let board = Board::new(&header);
        Self {
            run: Run::new(header),
            board,
            stage: Stage::Reach,
            queue: VecDeque::new(),
            rounds: VecDeque::new(),
            soak: Vec::new(),
            round: 0,
            lost: HashSet::new(),
        }
    }

    /// What was measured so far.
    pub fn run(&self) -> &Run {
        &self.run
    }

    pub fn board(&self) -> &Board {
        &self.board
    }

    /// What to measure now; `None` when all is done. The time is that since the run began.
    pub fn next(&mut self, elapsed_milliseconds: u64) -> Option<Step> {
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
    pub fn record(&mut self, step: &Step, results: Vec<TestResult>) -> &[Measurement] {
        let before = self.run.measurements.len();
        for (test, result) in step.tests.iter().zip(results) {
            let measurement = self.measurement(step, *test, result);
            self.run.measurements.push(measurement);
        }
        &self.run.measurements[before..]
    }

    /// A node has gone: what it was part of is dropped, and what is left is scheduled again.
    pub fn lose(&mut self, lost: LostNode) {
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
        let left: Vec<Pair> = left.filter(|(a, b)| is_alive(*a) && is_alive(*b)).collect();
        let packed = schedule::rounds(&board.shared, &left);
        self.rounds = in_pairs(&left, packed).into();
    }

    pub fn end(&mut self, end: End) {
        self.run.end = Some(end);
    }

    fn measurement(&self, step: &Step, test: PlannedTest, result: TestResult) -> Measurement {
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
        self.run.header.options.mode == Mode::Quick
    }

    fn enter_next_stage(&mut self, elapsed_milliseconds: u64) {
        let quick = self.is_quick();
        match self.stage {
            Stage::Reach => {
                let rounds = self.all_rounds();
                self.queue_reach(&rounds);
                self.rounds = rounds.into();
                self.stage = Stage::Rounds;
            }
            Stage::Rounds if quick => self.enter_suspects(0),
            Stage::Suspects(rounds) if rounds < MOST_SUSPECT_ROUNDS => self.enter_suspects(rounds),
            Stage::Rounds | Stage::Suspects(_) => {
                self.queue_reruns();
                self.stage = Stage::Reruns;
            }
            Stage::Reruns if quick => self.stage = Stage::Done,
            Stage::Reruns => {
                self.queue_rails();
                self.stage = Stage::Rails;
            }
            Stage::Rails => {
                self.queue_duplex();
                self.stage = Stage::Duplex;
            }
            Stage::Duplex => {
                self.queue_incast();
                self.stage = Stage::Incast;
            }
            Stage::Incast => self.stage = Stage::Soak,
            Stage::Soak => self.queue_soak(elapsed_milliseconds),
            Stage::Done => {}
        }
    }

    fn all_rounds(&mut self) -> Vec<Vec<Pair>> {
        if self.is_quick() {
            let alive = |end: usize| self.is_alive(end);
            return quick::matchings(&self.board, &alive);
        }
        let mut pairs = self.board.pairs();
        pairs.retain(|(a, b)| self.is_alive(*a) && self.is_alive(*b));
        let rounds = schedule::rounds(&self.board.shared, &pairs);
        let rounds = in_pairs(&pairs, rounds);
        if matches!(self.run.header.options.mode, Mode::Soak { .. }) {
            self.soak.clone_from(&rounds);
        }
        rounds
    }

    fn next_round(&mut self) -> u32 {
        self.round += 1;
        self.round
    }

    fn queue(&mut self, kind: TestKind, phase: Phase, tests: Vec<PlannedTest>, milliseconds: u32) {
        if tests.is_empty() {
            return;
        }
        let round = self.next_round();
        self.queue.push_back(Step {
            round,
            kind,
            phase,
            tests,
            milliseconds,
        });
    }

    fn queue_reach(&mut self, rounds: &[Vec<Pair>]) {
        let pairs = rounds.iter().flatten();
        let tests = pairs.flat_map(|(a, b)| [(*a, *b), (*b, *a)]);
        let tests: Vec<PlannedTest> = tests.map(|pair| planned(pair, None, None)).collect();
        self.queue(TestKind::Reachability, Phase::Round, tests, 0);
    }

    /// Kinds of a round, and in how many directions and ways.
    fn kinds(&self) -> Vec<(TestKind, usize)> {
        let ways = self.queue_pairs().len() * 2;
        let write = (TestKind::RdmaBandwidth(Operation::Write), ways);
        if self.is_quick() {
            return vec![(TestKind::RdmaLatency, 1), write];
        }
        vec![
            (TestKind::TcpBandwidth, 2),
            (TestKind::RdmaLatency, 1),
            write,
        ]
    }

    /// Quick mode takes the largest number alone.
    fn queue_pairs(&self) -> Vec<u32> {
        let wanted = &self.run.header.options.queue_pairs;
        match wanted.iter().max() {
            Some(most) if self.is_quick() => vec![*most],
            Some(_) => wanted.clone(),
            None => vec![1],
        }
    }

    fn size(&self) -> Option<u64> {
        self.run.header.options.sizes.iter().copied().max()
    }

    fn queue_round(&mut self, pairs: &[Pair]) {
        if self.stage == Stage::Rails {
            return self.queue_all_rails(pairs);
        }
        let phase = if pairs.len() == 1 {
            Phase::Solo
        } else {
            Phase::Round
        };
        let milliseconds = self.run.header.options.test_milliseconds;
        let (size, numbers) = (self.size(), self.queue_pairs());
        let back: Vec<Pair> = pairs.iter().map(|(a, b)| (*b, *a)).collect();
        for (kind, _) in self.kinds() {
            let bandwidth = kind.is_bandwidth();
            let size = size.filter(|_| bandwidth);
            let rdma = matches!(kind, TestKind::RdmaBandwidth(_));
            let numbers: Vec<Option<u32>> = if rdma {
                numbers.iter().copied().map(Some).collect()
            } else {
                vec![None]
            };
            for number in numbers {
                for (direction, pairs) in [pairs, &back].into_iter().enumerate() {
                    if bandwidth || direction == 0 {
                        let tests = pairs.iter().map(|pair| planned(*pair, size, number));
                        self.queue(kind, phase, tests.collect(), milliseconds);
                    }
                }
            }
        }
    }

    /// Ports of pairs that were low, less those that passed elsewhere, against ports that passed.
    fn enter_suspects(&mut self, rounds: usize) {
        let (low, passed) = self.ports_by_grade();
        let tested: HashMap<usize, usize> = self.times_tested();
        let waiting: BTreeSet<usize> = low
            .difference(&passed)
            .copied()
            // Two tests have said enough of a port.
            .filter(|port| tested.get(port).copied().unwrap_or(0) < 2 && self.is_alive(*port))
            .collect();
        let alive = |end: usize| self.is_alive(end);
        let round = quick::suspects(&self.board, &alive, &waiting, &passed);
        self.stage = Stage::Suspects(rounds + 1);
        if round.is_empty() {
            self.stage = Stage::Suspects(MOST_SUSPECT_ROUNDS);
        } else {
            self.queue_round(&round);
        }
    }

    /// Ends by the best that was seen of them in RDMA: low ones, and those that passed at least once, both ways.
    fn ports_by_grade(&self) -> (BTreeSet<usize>, BTreeSet<usize>) {
        let graded = GradedRun::new(&self.run);
        let places: HashMap<&MeasuredEnd, usize> = self
            .board
            .ends
            .iter()
            .enumerate()
            .map(|(place, end)| (end, place))
            .collect();
        let mut worst: BTreeMap<(usize, usize), bool> = BTreeMap::new();
        for cell in graded
            .cells
            .iter()
            .filter(|cell| is_rdma_bandwidth(cell.best))
        {
            let ends = places.get(&cell.best.from).zip(places.get(&cell.best.to));
            let Some((from, to)) = ends else { continue };
            let good = match cell.verdict {
                Verdict::Fault | Verdict::Failed | Verdict::Warning => false,
                Verdict::Healthy | Verdict::NotGraded(_) | Verdict::NotApplicable => true,
            };
            let pair = (*from.min(to), *from.max(to));
            *worst.entry(pair).or_insert(true) &= good;
        }
        let mut low = BTreeSet::new();
        let mut passed = BTreeSet::new();
        for ((a, b), good) in worst {
            if good { &mut passed } else { &mut low }.extend([a, b]);
        }
        (low, passed)
    }

    /// Against how many others an end was tested.
    fn times_tested(&self) -> HashMap<usize, usize> {
        let places: HashMap<&MeasuredEnd, usize> = self
            .board
            .ends
            .iter()
            .enumerate()
            .map(|(place, end)| (end, place))
            .collect();
        let mut partners: HashMap<usize, HashSet<usize>> = HashMap::new();
        for one in self
            .run
            .measurements
            .iter()
            .filter(|one| is_rdma_bandwidth(one))
        {
            if let (Some(from), Some(to)) = (places.get(&one.from), places.get(&one.to)) {
                partners.entry(*from).or_default().insert(*to);
                partners.entry(*to).or_default().insert(*from);
            }
        }
        let counts = partners.into_iter();
        counts
            .map(|(end, partners)| (end, partners.len()))
            .collect()
    }

    /// One after the other: what recovers was contention.
    fn queue_reruns(&mut self) {
        let tests = rerun::choose(&GradedRun::new(&self.run), &self.board);
        let milliseconds = self.run.header.options.test_milliseconds;
        let number = self.queue_pairs().into_iter().max();
        for pair in tests {
            if self.is_alive(pair.0) && self.is_alive(pair.1) {
                let test = planned(pair, self.size(), number);
                let kind = TestKind::RdmaBandwidth(Operation::Write);
                self.queue(kind, Phase::Solo, vec![test], milliseconds);
            }
        }
    }

    /// Node against node, where they are joined by several rails: rounds of nodes, as of ports before.
    fn queue_rails(&mut self) {
        let mut rails: BTreeMap<(usize, usize), Vec<Pair>> = BTreeMap::new();
        for (a, b) in self.board.pairs() {
            if self.board.ends[a].rail == self.board.ends[b].rail
                && self.is_alive(a)
                && self.is_alive(b)
            {
                let nodes = (self.board.nodes[a], self.board.nodes[b]);
                let key = (nodes.0.min(nodes.1), nodes.0.max(nodes.1));
                rails.entry(key).or_default().push((a, b));
            }
        }
        rails.retain(|_, pairs| pairs.len() > 1);
        let pairs: Vec<Pair> = rails.keys().copied().collect();
        let nodes = self.run.header.nodes.len();
        let rounds = schedule::rounds(&vec![schedule::Shared::default(); nodes], &pairs);
        let of_rails = |round: Vec<usize>| {
            let pairs = round.into_iter().filter_map(|at| rails.get(&pairs[at]));
            pairs.flatten().copied().collect()
        };
        self.rounds = rounds.into_iter().map(of_rails).collect();
    }

    fn queue_all_rails(&mut self, pairs: &[Pair]) {
        let milliseconds = self.run.header.options.test_milliseconds;
        let back: Vec<Pair> = pairs.iter().map(|(a, b)| (*b, *a)).collect();
        for number in self.queue_pairs() {
            for pairs in [pairs, &back] {
                let tests = pairs
                    .iter()
                    .map(|pair| planned(*pair, self.size(), Some(number)));
                let kind = TestKind::RdmaBandwidth(Operation::Write);
                let tests = tests.collect();
                self.queue(kind, Phase::AllRails, tests, milliseconds);
            }
        }
    }

    fn queue_duplex(&mut self) {
        let mut pairs = self.board.pairs();
        pairs.retain(|(a, b)| self.is_alive(*a) && self.is_alive(*b));
        if pairs.len() > MOST_DUPLEX_PAIRS {
            return;
        }
        let milliseconds = self.run.header.options.test_milliseconds;
        let number = self.queue_pairs().into_iter().max();
        for round in in_pairs(&pairs, schedule::rounds(&self.board.shared, &pairs)) {
            let both = round.iter().flat_map(|(a, b)| [(*a, *b), (*b, *a)]);
            let tests = both
                .map(|pair| planned(pair, self.size(), number))
                .collect();
            let kind = TestKind::RdmaBandwidth(Operation::Write);
            self.queue(kind, Phase::Bidirectional, tests, milliseconds);
        }
    }

    /// All to one, once on each plane.
    fn queue_incast(&mut self) {
        let milliseconds = self.run.header.options.test_milliseconds;
        let number = self.queue_pairs().into_iter().max();
        let groups = self.board.groups.iter().filter(|group| group.len() > 2);
        let mut steps = Vec::new();
        for group in groups {
            let mut alive = group.iter().copied().filter(|end| self.is_alive(*end));
            let Some(receiver) = alive.next() else {
                continue;
            };
            let mut nodes = HashSet::from([self.board.nodes[receiver]]);
            let senders = alive.filter(|end| nodes.insert(self.board.nodes[*end]));
            let tests: Vec<PlannedTest> = senders
                .map(|sender| planned((sender, receiver), self.size(), number))
                .collect();
            if tests.len() > 1 {
                steps.push(tests);
            }
        }
        for tests in steps {
            let kind = TestKind::RdmaBandwidth(Operation::Write);
            self.queue(kind, Phase::Incast, tests, milliseconds);
        }
    }

    fn queue_soak(&mut self, elapsed_milliseconds: u64) {
        let Mode::Soak { seconds } = self.run.header.options.mode else {
            self.stage = Stage::Done;
            return;
        };
        let soaked = self
            .run
            .measurements
            .iter()
            .find(|one| one.phase == Phase::Soak);
        let began = soaked.map_or(elapsed_milliseconds, |first| first.offset_milliseconds);
        let left = (began + seconds.saturating_mul(1000)).saturating_sub(elapsed_milliseconds);
        let left = u32::try_from(left)
            .unwrap_or(u32::MAX)
            .min(SOAK_MILLISECONDS);
        self.soak.retain(|round| !round.is_empty());
        if left == 0 || self.soak.is_empty() {
            self.stage = Stage::Done;
            return;
        }
        let turn = self
            .run
            .measurements
            .iter()
            .filter(|one| one.phase == Phase::Soak);
        let turn = turn.map(|one| one.round).collect::<BTreeSet<u32>>().len();
        let pairs = self.soak[turn % self.soak.len()].clone();
        let pairs = pairs
            .into_iter()
            .filter(|(a, b)| self.is_alive(*a) && self.is_alive(*b));
        let number = self.queue_pairs().into_iter().max();
        let tests: Vec<PlannedTest> = pairs
            .map(|pair| planned(pair, self.size(), number))
            .collect();
        if tests.is_empty() {
            let round = turn % self.soak.len();
            self.soak.remove(round);
            return;
        }
        let kind = TestKind::RdmaBandwidth(Operation::Write);
        self.queue(kind, Phase::Soak, tests, left);
    }
}

fn planned((from, to): Pair, size: Option<u64>, queue_pairs: Option<u32>) -> PlannedTest {
    PlannedTest {
        from,
        to,
        size,
        queue_pairs,
    }
}

fn in_pairs(pairs: &[Pair], rounds: Vec<Vec<usize>>) -> Vec<Vec<Pair>> {
    let rounds = rounds.into_iter();
    rounds
        .map(|round| round.into_iter().map(|at| pairs[at]).collect())
        .collect()
}

fn is_rdma_bandwidth(measurement: &Measurement) -> bool {
    matches!(measurement.kind, TestKind::RdmaBandwidth(_))
        && matches!(measurement.phase, Phase::Solo | Phase::Round)
}
