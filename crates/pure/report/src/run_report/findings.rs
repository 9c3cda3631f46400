//! Faults that a run shows, as findings of the catalogue.

use crosstie_doctor::checks;
use crosstie_grade::{GradedRun, MeasuredFault, faults};
use crosstie_model::Finding;

use super::{FindingRef, PlacedFinding};

/// Roots before what they explain.
pub fn findings(graded: &GradedRun) -> Vec<PlacedFinding> {
    let faults = faults(graded);
    let placed = faults.iter().map(|fault| PlacedFinding {
        host: host(fault),
        finding: finding(fault),
        caused_by: fault
            .because_of
            .and_then(|root| faults.get(root))
            .map(|root| FindingRef {
                host: host(root),
                id: root.kind.id().to_owned(),
                subject: root.subject.clone(),
            }),
    });
    placed.collect()
}

fn host(fault: &MeasuredFault) -> Option<String> {
    match fault.hosts.as_slice() {
        [host] => Some(host.clone()),
        _ => None,
    }
}

/// What the catalogue says in general, unless the run knows better.
fn finding(fault: &MeasuredFault) -> Finding {
    let id = fault.kind.id();
    let check = checks::all().find(|check| check.id == id);
    let general = || {
        let cause = check
            .map(|check| check.cause.to_owned())
            .unwrap_or_default();
        match fault.suspects.as_slice() {
            [] | [_] => cause,
            several => format!("{cause}; one of: {}", several.join(", ")),
        }
    };
    Finding {
        id: id.to_owned(),
        severity: fault.severity,
        subject: fault.subject.clone(),
        evidence: fault.evidence.clone(),
        cause: fault.cause.clone().unwrap_or_else(general),
        fix: fault
            .advice
            .clone()
            .or(check.map(|check| check.fix.to_owned()))
            .unwrap_or_default(),
        commands: Vec::new(),
    }
}
