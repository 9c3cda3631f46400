//! What each cable is worth.

use std::collections::BTreeMap;

use crosstie_grade::{GradedPath, GradedRun};
use crosstie_model::Cable;

use super::{CableReport, CableReportEnd, Grade, build::grade};

/// A direction on a rail: whether the first end sends, and which rail.
type Way = (bool, u32);

pub(super) fn cables(graded: &GradedRun) -> Vec<CableReport> {
    let mut by_name: BTreeMap<String, BTreeMap<Way, &GradedPath>> = BTreeMap::new();
    for cell in graded.cells.iter().filter(|cell| counts(cell)) {
        let (from, to) = (&cell.best.from, &cell.best.to);
        for (end, sends) in [(from, true), (to, false)] {
            // The two directions of a direct cable are told apart by the host that sends.
            let sends = if from.cable == to.cable {
                from.host < to.host
            } else {
                sends
            };
            let Some(cable) = &end.cable else { continue };
            let ways = by_name.entry(cable.clone()).or_default();
            let best = ways.entry((sends, end.rail)).or_insert(cell);
            if rank(cell) < rank(best) {
                *best = cell;
            }
        }
    }
    let cabling = graded.run.header.cabling.iter();
    cabling
        .map(|cable| {
            let name = cable.to_string();
            let ways = by_name.get(&name);
            let worst = ways.and_then(|ways| ways.values().max_by_key(|cell| rank(cell)));
            CableReport {
                ends: cable
                    .ends()
                    .map(|end| CableReportEnd {
                        host: end.node.clone(),
                        cage: end.cage.clone(),
                    })
                    .collect(),
                plane: match cable {
                    Cable::Switched { plane, .. } => Some(plane.clone()),
                    Cable::Direct { .. } => None,
                },
                name,
                grade: worst.map(|cell| grade(cell.verdict)),
                percent: worst.and_then(|cell| cell.percent),
                gbps: worst.and_then(|cell| cell.gbps),
            }
        })
        .collect()
}

/// RDMA bandwidth that is graded, or that was to be.
fn counts(cell: &GradedPath) -> bool {
    let is_bandwidth = cell.best.kind.is_rdma() && cell.best.kind.is_bandwidth();
    let grade = grade(cell.verdict);
    is_bandwidth && (grade.is_graded() || grade == Grade::Failed)
}

/// Worse is more.
fn rank(cell: &GradedPath) -> (Grade, u32) {
    (grade(cell.verdict), u32::MAX - cell.percent.unwrap_or(0))
}
