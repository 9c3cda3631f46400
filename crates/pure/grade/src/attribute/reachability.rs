//! A port that answers for another.

use crosstie_model::{
    Severity,
    run::{MeasurementFigures, MeasurementOutcome, ReachabilityFigure},
};

use super::{FaultKind, MeasuredFault, part_names};
use crate::graded::GradedRun;

pub(super) fn faults(graded: &GradedRun) -> Vec<MeasuredFault> {
    let cells = graded.cells.iter().map(|cell| cell.best);
    let astray = cells.filter_map(|one| match &one.outcome {
        MeasurementOutcome::Measured(MeasurementFigures::Reach(
            ReachabilityFigure::OtherPort {
                expected,
                found,
                interface,
            },
        )) => {
            let subject = part_names::direction(&one.from, &one.to);
            let mut fault = MeasuredFault::new(FaultKind::WrongNeighbour, Severity::Fault, subject);
            fault.hosts = vec![one.to.host.clone()];
            fault.of(one);
            fault.saw("expected hardware address", expected.to_string());
            fault.saw("found", found.to_string());
            if let Some(interface) = interface {
                fault.saw("which is", interface);
            }
            Some(fault)
        }
        _ => None,
    });
    astray.collect()
}
