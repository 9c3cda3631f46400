//! What a stored run shows, for the checks that need one.

use std::collections::BTreeSet;

use crosstie_grade::{FaultKind, GradedRun, MeasuredFault, faults};
use crosstie_model::{
    Finding, FindingRef,
    run::{MeasuredEnd, StoredRun},
};

use crate::{CheckHit, FindingSite, checks};

/// A run, and its faults. A fault that another one of the run explains is told with that one.
pub struct RunWithFaults<'a> {
    pub run: &'a StoredRun,
    pub faults: Vec<MeasuredFault>,
}

impl<'a> RunWithFaults<'a> {
    pub fn new(run: &'a StoredRun) -> Self {
        Self {
            run,
            faults: faults(&GradedRun::new(run)),
        }
    }

    /// The roots of one kind.
    pub(crate) fn hits(&self, kind: FaultKind) -> Vec<CheckHit> {
        let faults = self.faults.iter().enumerate();
        let roots = faults.filter(|(_, fault)| fault.kind == kind && fault.because_of.is_none());
        roots.map(|(place, fault)| self.hit(place, fault)).collect()
    }

    fn hit(&self, place: usize, fault: &MeasuredFault) -> CheckHit {
        let mut hit = plain(fault);
        let consequences = self.faults.iter();
        let consequences = consequences.filter(|other| other.because_of == Some(place));
        for other in consequences {
            hit = hit.saw(
                format!("explains {}", other.kind.id()),
                &other.subject,
                "prove",
            );
        }
        for site in self.sites(fault) {
            hit = hit.at(site);
        }
        hit
    }

    /// Ports that it is about, of nodes that may be at fault; nodes where no port is known.
    fn sites(&self, fault: &MeasuredFault) -> Vec<FindingSite> {
        let ends = fault.directions.iter().flat_map(|(from, to)| [from, to]);
        let concerned =
            |end: &&MeasuredEnd| fault.hosts.is_empty() || fault.hosts.contains(&end.host);
        let ends: BTreeSet<&MeasuredEnd> = ends.filter(concerned).collect();
        if ends.is_empty() {
            return fault.hosts.iter().map(FindingSite::node).collect();
        }
        let site = |end: &MeasuredEnd| {
            let port = self.run.port(end);
            FindingSite {
                cage: port.and_then(|port| port.cage.clone()),
                port: port.map(|port| (port.device.clone(), port.port)),
                ..FindingSite::node(&end.host)
            }
        };
        ends.into_iter().map(site).collect()
    }

    /// Every fault, with the one that explains it: what `prove` prints.
    pub fn findings(&self) -> Vec<Finding> {
        let reference = |place: usize| {
            let root = self.faults.get(place)?;
            Some(FindingRef {
                host: None,
                id: root.kind.id().to_owned(),
                subject: root.subject.clone(),
            })
        };
        let found = self.faults.iter().filter_map(|fault| {
            let mut checks = checks::all();
            let check = checks.find(|check| check.id == fault.kind.id())?;
            let mut finding = plain(fault).finding(check);
            finding.caused_by = fault.because_of.and_then(reference);
            Some(finding)
        });
        let mut found: Vec<Finding> = found.collect();
        found.sort_by_key(|finding| finding.severity);
        found
    }
}

fn plain(fault: &MeasuredFault) -> CheckHit {
    let mut hit = CheckHit::new(fault.severity, &fault.subject);
    for seen in &fault.evidence {
        hit = hit.saw(&seen.what, &seen.value, &seen.source);
    }
    if let Some(cause) = &fault.cause {
        hit = hit.cause(cause);
    }
    if let Some(advice) = &fault.advice {
        hit = hit.advice(advice);
    }
    hit
}
