//! Paths that a run did not test.

use std::collections::HashSet;

use crosstie_model::run::{MeasuredEnd, StoredRun, TestKind};

use crate::proof::TestEndTable;

/// Paths that were planned or possible and have no figure of RDMA bandwidth.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UntestedCount {
    /// All paths of the fabric.
    pub paths: u64,
    pub untested: u64,
    /// The first few of them.
    pub examples: Vec<(MeasuredEnd, MeasuredEnd)>,
}

/// With so many examples at most.
pub fn untested(run: &StoredRun, examples: usize) -> UntestedCount {
    let board = TestEndTable::new(&run.header);
    let key = |a: &MeasuredEnd, b: &MeasuredEnd| {
        let (a, b) = (a.clone(), b.clone());
        if a <= b { (a, b) } else { (b, a) }
    };
    let measured = run.measurements.iter();
    let measured = measured.filter(|one| matches!(one.kind, TestKind::RdmaBandwidth(_)));
    let tested: HashSet<(MeasuredEnd, MeasuredEnd)> =
        measured.map(|one| key(&one.from, &one.to)).collect();
    let mut found = Vec::new();
    'groups: for group in &board.groups {
        for (at, a) in group.iter().enumerate() {
            for b in group[at + 1..]
                .iter()
                .filter(|b| board.nodes[*a] != board.nodes[**b])
            {
                if found.len() >= examples {
                    break 'groups;
                }
                let pair = key(&board.ends[*a], &board.ends[*b]);
                if !tested.contains(&pair) {
                    found.push(pair);
                }
            }
        }
    }
    let paths = board.pair_count();
    UntestedCount {
        paths,
        untested: paths.saturating_sub(tested.len() as u64),
        examples: found,
    }
}
