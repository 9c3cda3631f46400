//! Which low pairs are measured again, alone: what recovers was contention, what stays low is the hardware's.

use std::collections::HashMap;

use crosstie_model::run::{MeasuredEnd, ProofMode};

use super::TestEndTable;
use crate::{
    attribute::observe::{BandwidthObservations, located},
    graded::GradedRun,
    locate::SuspectPart,
    schedule::PortPair,
};

/// Of a node, a port or a cable: if three of its pairs stay low, the others would.
const OF_A_NODE: usize = 3;
/// Where no pair is good.
const OF_EVERYTHING: usize = 16;
/// Paths, each by itself.
const MOST_PATHS: usize = 64;
const MOST_PATHS_QUICK: usize = 16;

pub(super) fn choose(graded: &GradedRun, board: &TestEndTable) -> Vec<PortPair> {
    let observed = BandwidthObservations::new(graded);
    let places: HashMap<&MeasuredEnd, usize> = board
        .ends
        .iter()
        .enumerate()
        .map(|(place, end)| (end, place))
        .collect();
    let quick = graded.run.header.options.mode == ProofMode::Quick;
    let pair = |cell: &usize| {
        let cell = &observed.cells[*cell];
        let from = places.get(observed.ends[cell.from])?;
        Some((*from, *places.get(observed.ends[cell.to])?))
    };
    let mut chosen: Vec<PortPair> = Vec::new();
    let mut paths: Vec<PortPair> = Vec::new();
    for group in located(&observed, &observed.first_states()) {
        // A test that was alone already would say the same.
        let open = group
            .tests
            .iter()
            .filter(|cell| observed.cells[**cell].solo.is_none());
        let open: Vec<PortPair> = open.filter_map(pair).collect();
        match group.parts.first() {
            Some(part) if part.is_path() => paths.extend(open),
            _ if quick => {}
            Some(SuspectPart::Everything | SuspectPart::Rail(_)) => {
                chosen.extend(spaced(&open, OF_EVERYTHING));
            }
            _ => chosen.extend(spaced(&open, OF_A_NODE)),
        }
    }
    let most = if quick { MOST_PATHS_QUICK } else { MOST_PATHS };
    chosen.extend(spaced(&paths, most));
    chosen
}

/// So many of them, evenly from first to last.
fn spaced<T: Copy>(all: &[T], most: usize) -> Vec<T> {
    let count = all.len().min(most);
    (0..count).map(|at| all[at * all.len() / count]).collect()
}
