//! The commands that a run of `up` ends with.

use super::{UpFinding, UpReport, UpStage, UpVerdict};
use crate::{
    change::{ApplyReport, NodeChangeOutcome},
    suggested_command::{CommandContext, CommandVerb},
};

impl UpReport {
    /// What rolls it back, and what comes next. `again` is the command that does the same once more.
    pub fn add_commands(&mut self, offer: &CommandContext, again: &str) {
        if self.was_changed() {
            self.undo = Some(offer.command(CommandVerb::Rollback).to_string());
        }
        let half = self.run.as_ref().and_then(|run| {
            let changes = ApplyReport::new(self.changes.clone());
            changes.half_configured(again, &offer.rollback(run))
        });
        if let Some(half) = half {
            self.undo = Some(half.undo.clone());
            self.next = Some(half.again.clone());
            self.half_configured = Some(half);
        } else {
            self.next = self.next_command(offer);
        }
    }

    /// The plan was carried out, on some node at least.
    pub(super) fn was_changed(&self) -> bool {
        let mut outcomes = self.changes.iter().map(|change| change.outcome);
        outcomes.any(|outcome| outcome == NodeChangeOutcome::Confirmed)
    }

    fn next_command(&self, offer: &CommandContext) -> Option<String> {
        let doctor = offer.command(CommandVerb::Doctor).as_root();
        match self.stopped.as_ref().map(|stopped| stopped.stage) {
            Some(UpStage::Doctor) => {
                let stopping = self
                    .findings
                    .iter()
                    .find(|seen| UpFinding::blocks_apply(seen))?;
                Some(format!("crosstie explain {}", stopping.finding.id))
            }
            Some(UpStage::Plan) => Some(offer.command(CommandVerb::Plan).to_string()),
            Some(UpStage::Apply) => Some(offer.command(CommandVerb::Status).to_string()),
            Some(UpStage::Proof | UpStage::Measure) => Some(doctor.to_string()),
            Some(_) => None,
            None if self.verdict == UpVerdict::Reachable => {
                Some(offer.command(CommandVerb::Prove).as_root().to_string())
            }
            None => Some(doctor.flag("watch", true).to_string()),
        }
    }
}
