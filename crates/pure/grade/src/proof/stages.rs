//! What each stage asks for.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use crosstie_model::run::{
    MeasuredEnd, Measurement, ProofMode, RdmaOperation, TestConcurrency, TestKind,
};

use super::{PlannedTest, ProofStateMachine, Stage, TestBatch, in_pairs, quick, rerun};
use crate::{
    graded::GradedRun,
    schedule::{self, PortPair},
    verdict::FigureVerdict,
};

/// Suspects that find no partner are left after so many rounds.
const MOST_SUSPECT_ROUNDS: usize = 4;
/// With more pairs, both directions at once are not measured: they are shown, not graded.
const MOST_DUPLEX_PAIRS: usize = 64;
/// Of a soak: so long that a step is a line of a report, so short that little is lost with it.
const SOAK_MILLISECONDS: u32 = 60_000;

impl ProofStateMachine {
    pub(super) fn enter_next_stage(&mut self, elapsed_milliseconds: u64) {
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

    fn all_rounds(&mut self) -> Vec<Vec<PortPair>> {
        if self.is_quick() {
            let alive = |end: usize| self.is_alive(end);
            return quick::matchings(&self.board, &alive);
        }
        let mut pairs = self.board.pairs();
        pairs.retain(|(a, b)| self.is_alive(*a) && self.is_alive(*b));
        let rounds = schedule::rounds(&self.board.shared, &pairs);
        let rounds = in_pairs(&pairs, rounds);
        if matches!(self.run.header.options.mode, ProofMode::Soak { .. }) {
            self.soak = rounds.clone().into();
        }
        rounds
    }

    fn next_round(&mut self) -> u32 {
        self.round += 1;
        self.round
    }

    fn queue(
        &mut self,
        kind: TestKind,
        phase: TestConcurrency,
        tests: Vec<PlannedTest>,
        milliseconds: u32,
    ) {
        if tests.is_empty() {
            return;
        }
        let round = self.next_round();
        self.queue.push_back(TestBatch {
            round,
            kind,
            phase,
            tests,
            milliseconds,
        });
    }

    fn queue_reach(&mut self, rounds: &[Vec<PortPair>]) {
        let pairs = rounds.iter().flatten();
        let tests = pairs.flat_map(|(a, b)| [(*a, *b), (*b, *a)]);
        let tests: Vec<PlannedTest> = tests.map(|pair| planned(pair, None, None)).collect();
        self.queue(TestKind::Reachability, TestConcurrency::Round, tests, 0);
    }

    /// Kinds of a round, and in how many directions and ways.
    pub(super) fn kinds(&self) -> Vec<(TestKind, usize)> {
        let ways = self.queue_pairs().len() * 2;
        let write = (TestKind::RdmaBandwidth(RdmaOperation::Write), ways);
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

    pub(super) fn queue_round(&mut self, pairs: &[PortPair]) {
        if self.stage == Stage::Rails {
            return self.queue_all_rails(pairs);
        }
        let phase = if pairs.len() == 1 {
            TestConcurrency::Solo
        } else {
            TestConcurrency::Round
        };
        let milliseconds = self.run.header.options.test_milliseconds;
        let (size, numbers) = (self.size(), self.queue_pairs());
        let back: Vec<PortPair> = pairs.iter().map(|(a, b)| (*b, *a)).collect();
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
                FigureVerdict::Fault | FigureVerdict::Failed | FigureVerdict::Warning => false,
                FigureVerdict::Healthy
                | FigureVerdict::NotGraded(_)
                | FigureVerdict::NotApplicable => true,
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
                let kind = TestKind::RdmaBandwidth(RdmaOperation::Write);
                self.queue(kind, TestConcurrency::Solo, vec![test], milliseconds);
            }
        }
    }

    /// Node against node, where they are joined by several rails: rounds of nodes, as of ports before.
    fn queue_rails(&mut self) {
        let mut rails: BTreeMap<(usize, usize), Vec<PortPair>> = BTreeMap::new();
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
        let pairs: Vec<PortPair> = rails.keys().copied().collect();
        let nodes = self.run.header.nodes.len();
        let rounds = schedule::rounds(&vec![schedule::SharedResources::default(); nodes], &pairs);
        let of_rails = |round: Vec<usize>| {
            let pairs = round.into_iter().filter_map(|at| rails.get(&pairs[at]));
            pairs.flatten().copied().collect()
        };
        self.rounds = rounds.into_iter().map(of_rails).collect();
    }

    fn queue_all_rails(&mut self, pairs: &[PortPair]) {
        let milliseconds = self.run.header.options.test_milliseconds;
        let back: Vec<PortPair> = pairs.iter().map(|(a, b)| (*b, *a)).collect();
        for number in self.queue_pairs() {
            for pairs in [pairs, &back] {
                let tests = pairs
                    .iter()
                    .map(|pair| planned(*pair, self.size(), Some(number)));
                let kind = TestKind::RdmaBandwidth(RdmaOperation::Write);
                let tests = tests.collect();
                self.queue(kind, TestConcurrency::AllRails, tests, milliseconds);
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
            let kind = TestKind::RdmaBandwidth(RdmaOperation::Write);
            self.queue(kind, TestConcurrency::Bidirectional, tests, milliseconds);
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
            let kind = TestKind::RdmaBandwidth(RdmaOperation::Write);
            self.queue(kind, TestConcurrency::Incast, tests, milliseconds);
        }
    }

    fn queue_soak(&mut self, elapsed_milliseconds: u64) {
        let ProofMode::Soak { seconds } = self.run.header.options.mode else {
            self.stage = Stage::Done;
            return;
        };
        let began = *self.soak_began.get_or_insert(elapsed_milliseconds);
        let until = began.saturating_add(seconds.saturating_mul(1000));
        let left = until.saturating_sub(elapsed_milliseconds);
        let left = u32::try_from(left)
            .unwrap_or(u32::MAX)
            .min(SOAK_MILLISECONDS);
        let Some(pairs) = self.soak.pop_front().filter(|_| left > 0) else {
            self.stage = Stage::Done;
            return;
        };
        let alive = pairs.iter().copied();
        let alive: Vec<PortPair> = alive
            .filter(|(a, b)| self.is_alive(*a) && self.is_alive(*b))
            .collect();
        if alive.is_empty() {
            return;
        }
        let number = self.queue_pairs().into_iter().max();
        let tests = alive.iter().map(|pair| planned(*pair, self.size(), number));
        let kind = TestKind::RdmaBandwidth(RdmaOperation::Write);
        self.queue(kind, TestConcurrency::Soak, tests.collect(), left);
        // Its turn comes again, the other way round.
        self.soak
            .push_back(alive.into_iter().map(|(a, b)| (b, a)).collect());
    }
}

fn planned((from, to): PortPair, size: Option<u64>, queue_pairs: Option<u32>) -> PlannedTest {
    PlannedTest {
        from,
        to,
        size,
        queue_pairs,
    }
}

pub(super) fn is_rdma_bandwidth(measurement: &Measurement) -> bool {
    matches!(measurement.kind, TestKind::RdmaBandwidth(_))
        && matches!(
            measurement.phase,
            TestConcurrency::Solo | TestConcurrency::Round
        )
}
