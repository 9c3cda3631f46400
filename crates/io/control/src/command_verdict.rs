//! How a command ended, in one word.

use crosstie_doctor::Diagnosis;
use crosstie_model::{Finding, Severity};
use crosstie_report::{
    change::{ApplyReport, NodeChangeOutcome},
    status::{StatusNode, StatusReport},
    trust,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandVerdict {
    /// All is as it was asked for.
    Clean,
    /// Something is not.
    Faults,
    /// It could not be done, or nobody knows whether it was.
    Failed,
}

impl CommandVerdict {
    /// Of nodes that were changed; `is_rollback` where a rollback is what was asked for.
    pub fn of(changes: &ApplyReport, is_rollback: bool) -> Self {
        let mut outcomes = changes.nodes.iter().map(|change| change.outcome);
        let is_unknown = |outcome| {
            matches!(
                outcome,
                NodeChangeOutcome::Failed | NodeChangeOutcome::RollingBack
            )
        };
        if outcomes.clone().any(is_unknown) {
            Self::Failed
        } else if outcomes.all(|outcome| {
            outcome.is_fine() || (is_rollback && outcome == NodeChangeOutcome::RolledBack)
        }) {
            Self::Clean
        } else {
            Self::Faults
        }
    }

    /// Of nodes that were examined. Warnings are no faults.
    pub fn of_diagnosis(diagnosis: &Diagnosis) -> Self {
        let is_fault = |finding: &Finding| finding.severity == Severity::Fault;
        if diagnosis.nodes.iter().any(|node| node.error.is_some()) {
            Self::Failed
        } else if diagnosis.findings().any(is_fault) {
            Self::Faults
        } else {
            Self::Clean
        }
    }

    /// Of changes that were asked for: whether all is as it was left.
    pub fn of_status(status: &StatusReport) -> Self {
        if status.nodes.iter().any(|node| node.error.is_some()) {
            Self::Failed
        } else if status.nodes.iter().any(StatusNode::needs_attention) {
            Self::Faults
        } else {
            Self::Clean
        }
    }

    /// Of nodes that were to trust each other.
    pub fn of_trust(report: &trust::TrustReport) -> Self {
        if report.failed() {
            Self::Failed
        } else if report.is_declined() {
            Self::Faults
        } else {
            Self::Clean
        }
    }
}
