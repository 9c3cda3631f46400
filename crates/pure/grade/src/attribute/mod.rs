//! Which part is at fault, in words, with the evidence: every check that needs a measurement draws on this.

mod bandwidth;
mod latency;
mod link;
mod lossy;
pub mod observe;
pub mod part_names;
mod rails;
mod reachability;
mod steadiness;
mod symmetry;
#[cfg(test)]
mod tests;
mod untested;

use crosstie_model::{
    Evidence, Severity,
    run::{MeasuredEnd, Measurement},
};

use crate::graded::GradedRun;

pub use untested::{UntestedCount, untested};

/// The checks of the catalogue that a run of pairs can fire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FaultKind {
    WrongNeighbour,
    PathLosesPackets,
    NodeSlow,
    PairSlow,
    RailIdle,
    BandwidthBelowCeiling,
    FabricContended,
    AsymmetricPair,
    BandwidthUnsteady,
    LatencyHigh,
    LinkErrorsGrowing,
    OpticsDegraded,
}

impl FaultKind {
    /// Its id in the catalogue.
    pub fn id(self) -> &'static str {
        match self {
            Self::WrongNeighbour => "wrong-neighbour",
            Self::PathLosesPackets => "path-loses-packets",
            Self::NodeSlow => "node-slow",
            Self::PairSlow => "pair-slow",
            Self::RailIdle => "rail-idle",
            Self::BandwidthBelowCeiling => "bandwidth-below-ceiling",
            Self::FabricContended => "fabric-contended",
            Self::AsymmetricPair => "asymmetric-pair",
            Self::BandwidthUnsteady => "bandwidth-unsteady",
            Self::LatencyHigh => "latency-high",
            Self::LinkErrorsGrowing => "link-errors-growing",
            Self::OpticsDegraded => "optics-degraded",
        }
    }
}

/// One fault that a run shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeasuredFault {
    pub kind: FaultKind,
    pub severity: Severity,
    /// The node, pair or port that it is about.
    pub subject: String,
    /// What may be at fault and cannot be told apart by this run, the likeliest first.
    pub suspects: Vec<String>,
    /// The nodes that it is about; empty where it is about all.
    pub hosts: Vec<String>,
    pub evidence: Vec<Evidence>,
    /// Where this case has a better-known cause than the check in general.
    pub cause: Option<String>,
    pub advice: Option<String>,
    /// The place, in the same list, of the fault that explains this one.
    pub because_of: Option<usize>,
    /// Ports, in directions, that it is about: for what explains what.
    pub directions: Vec<(MeasuredEnd, MeasuredEnd)>,
}

impl MeasuredFault {
    fn new(kind: FaultKind, severity: Severity, subject: impl Into<String>) -> Self {
        Self {
            kind,
            severity,
            subject: subject.into(),
            suspects: Vec::new(),
            hosts: Vec::new(),
            evidence: Vec::new(),
            cause: None,
            advice: None,
            because_of: None,
            directions: Vec::new(),
        }
    }

    /// It is about one measurement.
    fn of(&mut self, one: &Measurement) {
        self.directions.push((one.from.clone(), one.to.clone()));
    }

    fn saw(&mut self, what: impl Into<String>, value: impl Into<String>) {
        self.evidence.push(Evidence {
            what: what.into(),
            value: value.into(),
            source: "prove".to_owned(),
        });
    }
}

/// Everything that a run shows, roots before what they explain.
pub fn faults(graded: &GradedRun) -> Vec<MeasuredFault> {
    let mut all = Vec::new();
    all.extend(reachability::faults(graded));
    all.extend(lossy::faults(graded));
    all.extend(bandwidth::faults(graded));
    all.extend(rails::faults(graded));
    all.extend(symmetry::faults(graded));
    all.extend(steadiness::faults(graded));
    all.extend(latency::faults(graded));
    all.extend(link::faults(graded));
    all.sort_by_key(|fault| fault.kind);
    explain(&mut all);
    all
}

/// What follows from a fault that is closer to the cause: the same directions, or the same node.
fn explain(all: &mut [MeasuredFault]) {
    for index in 1..all.len() {
        let (before, rest) = all.split_at_mut(index);
        let fault = &mut rest[0];
        let explains = |root: &MeasuredFault| {
            let explained = fault.directions.iter().filter(|direction| {
                let (from, to) = direction;
                root.directions.contains(direction)
                    // What is lost on the return path, or answered by another port, slows the way there.
                    || (root.kind < FaultKind::NodeSlow && root.directions.iter().any(|one| one.0 == *to && one.1 == *from))
            });
            let count = explained.count();
            count > 0 && count * 2 >= fault.directions.len() && root.kind < fault.kind
        };
        let root = before
            .iter()
            .position(|root| root.because_of.is_none() && explains(root));
        fault.because_of = root;
    }
}
