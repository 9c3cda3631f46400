//! Two directions of a pair that differ.

use std::collections::HashMap;

use crosstie_model::{
    Severity,
    run::{MeasuredEnd, TestConcurrency, TestKind},
};

use super::{FaultKind, MeasuredFault, part_names};
use crate::graded::{GradedPath, GradedRun};

/// More of a difference than this, of the faster one.
const DIFFERENCE: f64 = 0.10;

pub(super) fn faults(graded: &GradedRun) -> Vec<MeasuredFault> {
    type Key<'a> = (TestKind, TestConcurrency, &'a MeasuredEnd, &'a MeasuredEnd);
    let relevant = |cell: &&GradedPath| {
        matches!(cell.best.kind, TestKind::RdmaBandwidth(_))
            && matches!(
                cell.best.phase,
                TestConcurrency::Solo | TestConcurrency::Round
            )
            && cell.is_graded()
            && !graded.is_as_fast_as_its_processor(cell.best)
    };
    let cells: HashMap<Key, &GradedPath> = graded
        .cells
        .iter()
        .filter(relevant)
        .map(|cell| {
            (
                (
                    cell.best.kind,
                    cell.best.phase,
                    &cell.best.from,
                    &cell.best.to,
                ),
                cell,
            )
        })
        .collect();
    let mut found = Vec::new();
    for there in graded.cells.iter().filter(relevant) {
        let one = there.best;
        let back = cells.get(&(one.kind, one.phase, &one.to, &one.from));
        let figures = back.and_then(|back| Some((there.gbps?, back.gbps?)));
        let Some((figure, other)) = figures else {
            continue;
        };
        // The slower one is the finding; what ran alone counts where both are there.
        let alone = one.phase == TestConcurrency::Solo
            || !cells.contains_key(&(one.kind, TestConcurrency::Solo, &one.from, &one.to));
        if alone && figure < other * (1.0 - DIFFERENCE) {
            let subject = part_names::direction(&one.from, &one.to);
            let mut fault =
                MeasuredFault::new(FaultKind::AsymmetricPair, Severity::Warning, subject);
            fault.hosts = vec![one.from.host.clone(), one.to.host.clone()];
            fault.of(one);
            fault.saw(
                part_names::direction(&one.from, &one.to),
                part_names::gbps(figure),
            );
            fault.saw(
                part_names::direction(&one.to, &one.from),
                part_names::gbps(other),
            );
            found.push(fault);
        }
    }
    found
}
