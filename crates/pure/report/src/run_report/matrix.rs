//! Every node to every other.

use std::collections::HashMap;

use crosstie_grade::GradedRun;

use super::{Grade, MatrixCell, build::grade};

pub(super) fn matrix(graded: &GradedRun) -> Vec<MatrixCell> {
    let mut worst: HashMap<(&str, &str), MatrixCell> = HashMap::new();
    for cell in &graded.cells {
        let best = cell.best;
        let grade = grade(cell.verdict);
        let is_bandwidth = best.kind.is_rdma() && best.kind.is_bandwidth();
        if !is_bandwidth || !(grade.is_graded() || grade == Grade::Failed) {
            continue;
        }
        let found = MatrixCell {
            from: best.from.host.clone(),
            to: best.to.host.clone(),
            grade: Some(grade),
            percent: cell.percent,
            gbps: cell.gbps,
        };
        let key = (best.from.host.as_str(), best.to.host.as_str());
        let kept = worst.entry(key).or_insert_with(|| found.clone());
        let rank = |cell: &MatrixCell| (cell.grade, u32::MAX - cell.percent.unwrap_or(0));
        if rank(&found) > rank(kept) {
            *kept = found;
        }
    }
    let nodes = &graded.run.header.nodes;
    let pairs = nodes
        .iter()
        .flat_map(|from| nodes.iter().map(move |to| (from, to)));
    let pairs = pairs.filter(|(from, to)| from.host != to.host);
    pairs
        .map(|(from, to)| {
            let found = worst.remove(&(from.host.as_str(), to.host.as_str()));
            found.unwrap_or_else(|| MatrixCell {
                from: from.host.clone(),
                to: to.host.clone(),
                grade: None,
                percent: None,
                gbps: None,
            })
        })
        .collect()
}
