//! What `up` measured, and what may be said of the cluster then.

use crosstie_grade::reach::ReachabilityProof;
use schemars::JsonSchema;
use serde::Serialize;

use super::UpReport;
use crate::prove::ProveReport;

/// Whatever was not measured is not proven.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UpVerdict {
    /// Every address answers every other, and what was measured has no fault.
    Proven,
    /// Every address answers every other; nothing was measured.
    Reachable,
    /// Every address answers every other, and what was measured has a fault.
    NotProven,
    /// It ended before that.
    NotUp,
}

/// The quick measurement between all nodes.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct UpMeasurement {
    /// Why nothing was measured.
    pub skipped: Option<String>,
    /// What was measured, as `prove --quick --json` prints it.
    pub prove: Option<ProveReport>,
    /// The file of the run.
    pub run: Option<String>,
    /// Its page.
    pub report: Option<String>,
}

impl UpMeasurement {
    pub fn skipped(why: String) -> Self {
        Self {
            skipped: Some(why),
            prove: None,
            run: None,
            report: None,
        }
    }
}

impl UpReport {
    /// What the stages have come to.
    pub fn conclude(&mut self) {
        let proven = self.measured.as_ref().and_then(|one| one.prove.as_ref());
        let answers = self.proof.as_ref().is_some_and(ReachabilityProof::holds);
        self.verdict = match (answers, proven, &self.measured) {
            (true, Some(prove), _) if prove.has_faults() => UpVerdict::NotProven,
            (true, Some(prove), _) if !prove.is_unmeasured() => UpVerdict::Proven,
            (true, _, Some(_)) => UpVerdict::Reachable,
            _ => UpVerdict::NotUp,
        };
    }
}
