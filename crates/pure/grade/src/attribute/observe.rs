//! The cells of a run as tests of parts.

use std::collections::{HashMap, HashSet};

use crosstie_model::run::{MeasuredEnd, RdmaOperation, TestConcurrency, TestKind};

use super::part_names::PartNames;
use crate::{
    graded::{GradedPath, GradedRun},
    locate::{DirectionState, DirectionTest, LocatedFault, PortLocation, locate},
    verdict::FigureVerdict,
};

/// RDMA bandwidth from port to port.
pub struct BandwidthObservations<'g, 'a> {
    pub graded: &'g GradedRun<'a>,
    pub hosts: Vec<&'a str>,
    pub cables: Vec<&'a str>,
    pub ends: Vec<&'a MeasuredEnd>,
    pub places: Vec<PortLocation>,
    pub cells: Vec<ObservedDirection>,
    unreachable: HashSet<(&'a str, &'a str, u32)>,
}

/// One direction: while others ran, and alone. Places in the graded run's cells.
#[derive(Debug, Clone, Copy)]
pub struct ObservedDirection {
    pub from: usize,
    pub to: usize,
    pub round: Option<usize>,
    pub solo: Option<usize>,
}

impl<'g, 'a> BandwidthObservations<'g, 'a> {
    pub fn new(graded: &'g GradedRun<'a>) -> Self {
        let mut observed = Self {
            graded,
            hosts: Vec::new(),
            cables: Vec::new(),
            ends: Vec::new(),
            places: Vec::new(),
            cells: Vec::new(),
            unreachable: unreachable(graded),
        };
        let lost: HashSet<&str> = graded
            .run
            .lost
            .iter()
            .map(|lost| lost.host.as_str())
            .collect();
        let is_lost = |end: &MeasuredEnd| lost.contains(end.host.as_str());
        let operation = operation(graded);
        let mut hosts: HashMap<&'a str, usize> = HashMap::new();
        let mut cables: HashMap<&'a str, usize> = HashMap::new();
        let mut ends: HashMap<&'a MeasuredEnd, usize> = HashMap::new();
        let mut cells: HashMap<(usize, usize), usize> = HashMap::new();
        for (index, cell) in graded.cells.iter().enumerate() {
            let best = cell.best;
            if Some(best.kind) != operation
                || state(cell).is_none()
                || is_lost(&best.from)
                || is_lost(&best.to)
            {
                continue;
            }
            let mut place = |end: &'a MeasuredEnd| {
                *ends.entry(end).or_insert_with(|| {
                    let node = number(&mut hosts, &mut observed.hosts, &end.host);
                    let cable = end.cable.as_deref();
                    let cable = cable.map(|cable| number(&mut cables, &mut observed.cables, cable));
                    observed.ends.push(end);
                    observed.places.push(PortLocation {
                        node,
                        rail: end.rail,
                        cable,
                    });
                    observed.ends.len() - 1
                })
            };
            let (from, to) = (place(&best.from), place(&best.to));
            let at = *cells.entry((from, to)).or_insert_with(|| {
                observed.cells.push(ObservedDirection {
                    from,
                    to,
                    round: None,
                    solo: None,
                });
                observed.cells.len() - 1
            });
            match best.phase {
                TestConcurrency::Solo => observed.cells[at].solo = Some(index),
                TestConcurrency::Round => observed.cells[at].round = Some(index),
                TestConcurrency::Bidirectional
                | TestConcurrency::AllRails
                | TestConcurrency::Incast
                | TestConcurrency::Soak => {}
            }
        }
        observed
            .cells
            .retain(|cell| cell.round.or(cell.solo).is_some());
        observed
    }

    pub(super) fn names(&self) -> PartNames<'_, 'a> {
        PartNames {
            hosts: &self.hosts,
            cables: &self.cables,
            ends: &self.ends,
            places: &self.places,
        }
    }

    pub fn cell(&self, index: usize) -> &'g GradedPath<'a> {
        &self.graded.cells[index]
    }

    pub fn state_of(&self, cell: Option<usize>) -> Option<DirectionState> {
        state(self.cell(cell?))
    }

    /// No packet was answered, in either direction.
    pub fn is_unreachable(&self, from: &MeasuredEnd, to: &MeasuredEnd) -> bool {
        let ways = [(from, to), (to, from)];
        ways.into_iter().any(|(from, to)| {
            let key = (from.host.as_str(), to.host.as_str(), from.rail);
            self.unreachable.contains(&key)
        })
    }

    /// What the rounds show, before anything was measured again.
    pub fn first_states(&self) -> Vec<Option<DirectionState>> {
        let cells = self.cells.iter();
        cells
            .map(|cell| self.state_of(cell.round.or(cell.solo)))
            .collect()
    }

    /// The cell that counts: alone, if there is one.
    pub fn decisive(&self, cell: usize) -> Option<&'g GradedPath<'a>> {
        let cell = self.cells[cell];
        Some(self.cell(cell.solo.or(cell.round)?))
    }
}

fn unreachable<'a>(graded: &GradedRun<'a>) -> HashSet<(&'a str, &'a str, u32)> {
    let cells = graded.cells.iter();
    let failed = cells.filter(|cell| {
        cell.best.kind == TestKind::Reachability && cell.verdict == FigureVerdict::Failed
    });
    let ends = failed.map(|cell| (&cell.best.from, &cell.best.to));
    ends.map(|(from, to)| (from.host.as_str(), to.host.as_str(), from.rail))
        .collect()
}

fn number<'a>(known: &mut HashMap<&'a str, usize>, all: &mut Vec<&'a str>, name: &'a str) -> usize {
    *known.entry(name).or_insert_with(|| {
        all.push(name);
        all.len() - 1
    })
}

fn state(cell: &GradedPath) -> Option<DirectionState> {
    match cell.verdict {
        FigureVerdict::Healthy => Some(DirectionState::Good),
        FigureVerdict::Warning => Some(DirectionState::Reduced),
        FigureVerdict::Fault | FigureVerdict::Failed => Some(DirectionState::Low),
        FigureVerdict::NotGraded(_) | FigureVerdict::NotApplicable => None,
    }
}

/// Writes, if there are any.
fn operation(graded: &GradedRun) -> Option<TestKind> {
    let operations = [
        RdmaOperation::Write,
        RdmaOperation::Send,
        RdmaOperation::Read,
    ];
    let mut kinds = operations.into_iter().map(TestKind::RdmaBandwidth);
    kinds.find(|kind| graded.cells.iter().any(|cell| cell.best.kind == *kind))
}

/// The faults that explain these states, by the observed cells: first what is low, then what is merely reduced.
pub fn located(
    observed: &BandwidthObservations,
    states: &[Option<DirectionState>],
) -> Vec<LocatedFault> {
    let mut covered = vec![false; states.len()];
    let mut found = in_states(observed, states.iter().copied());
    for group in &found {
        for test in &group.tests {
            covered[*test] = true;
        }
    }
    let rest = states
        .iter()
        .zip(&covered)
        .map(|(state, covered)| match state {
            _ if *covered => None,
            Some(DirectionState::Reduced) => Some(DirectionState::Low),
            state => *state,
        });
    if states.contains(&Some(DirectionState::Reduced)) {
        found.extend(in_states(observed, rest));
    }
    found
}

fn in_states(
    observed: &BandwidthObservations,
    states: impl Iterator<Item = Option<DirectionState>>,
) -> Vec<LocatedFault> {
    let known = states.zip(&observed.cells).enumerate();
    let known = known.filter_map(|(index, (state, cell))| {
        let test = DirectionTest {
            from: cell.from,
            to: cell.to,
            state: state?,
        };
        Some((index, test))
    });
    let (indices, tests): (Vec<usize>, Vec<DirectionTest>) = known.unzip();
    let mut found = locate(&observed.places, &tests);
    for group in &mut found {
        for test in &mut group.tests {
            *test = indices[*test];
        }
    }
    found
}

/// What the runs alone have decided.
#[derive(Debug, Default)]
pub struct LocatedFaults {
    pub hardware: Vec<LocatedFault>,
    /// Low together and good alone, or like those that were.
    pub contended: Vec<usize>,
    /// How many of them were measured alone.
    pub confirmed: usize,
}

/// Contention told from hardware: a group whose cells recover when they are alone is nobody's fault by itself.
pub fn decide(observed: &BandwidthObservations) -> LocatedFaults {
    let mut states = observed.first_states();
    let groups = located(observed, &states);
    let mut decided = LocatedFaults::default();
    let mut undecided: Vec<&LocatedFault> = Vec::new();
    for group in &groups {
        let cells = || group.tests.iter().copied();
        let alone: Vec<DirectionState> = cells()
            .filter(|cell| observed.cells[*cell].round.is_some())
            .filter_map(|cell| observed.state_of(observed.cells[cell].solo))
            .collect();
        let recovered = alone
            .iter()
            .filter(|state| **state == DirectionState::Good)
            .count();
        if alone.is_empty() {
            undecided.push(group);
            continue;
        }
        if recovered > 0 {
            decided.confirmed += recovered;
            let stays = |cell: &usize| {
                observed
                    .state_of(observed.cells[*cell].solo)
                    .is_some_and(|state| state != DirectionState::Good)
            };
            decided
                .contended
                .extend(cells().filter(|cell| !stays(cell)));
        }
    }
    // There are too many paths to measure each alone. Where some recovered, the others are taken to be like them.
    for group in undecided {
        let is_path = group.parts.first().is_some_and(|part| part.is_path());
        if is_path && decided.confirmed > 0 {
            decided.contended.extend(&group.tests);
        }
    }
    for cell in &decided.contended {
        states[*cell] = None;
    }
    for (state, cell) in states.iter_mut().zip(&observed.cells) {
        if let Some(alone) = observed.state_of(cell.solo) {
            *state = Some(alone);
        }
    }
    decided.hardware = located(observed, &states);
    decided
}
