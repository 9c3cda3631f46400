//! The commands that a run of `up` ends with.

use super::{Seen, Up, UpStage, UpVerdict};
use crate::{
    change::{Changes, Outcome},
    offer::{Offer, Verb},
};

impl Up {
    /// What undoes it, and what comes next. `again` is the command that does the same once more.
    pub fn offer_commands(&mut self, offer: &Offer, again: &str) {
        let mut outcomes = self.changes.iter().map(|change| change.outcome);
        if outcomes.any(|outcome| outcome == Outcome::Confirmed) {
            self.undo = Some(offer.command(Verb::Rollback).to_string());
        }
        let half = self.run.as_ref().and_then(|run| {
            let changes = Changes::new(self.changes.clone());
            changes.half_configured(again, &offer.undo(run))
        });
        if let Some(half) = half {
            self.undo = Some(half.undo.clone());
            self.next = Some(half.again.clone());
            self.half_configured = Some(half);
        } else {
            self.next = self.next_command(offer);
        }
    }

    fn next_command(&self, offer: &Offer) -> Option<String> {
        let doctor = offer.command(Verb::Doctor).as_root();
        match self.stopped.as_ref().map(|stopped| stopped.stage) {
            Some(UpStage::Doctor) => {
                let stopping = self.findings.iter().find(|seen| Seen::stops(seen))?;
                Some(format!("crosstie explain {}", stopping.finding.id))
            }
            Some(UpStage::Apply) => Some(offer.command(Verb::Status).to_string()),
            Some(UpStage::Proof | UpStage::Measure) => Some(doctor.to_string()),
            Some(_) => None,
            None if self.verdict == UpVerdict::Reachable => {
                Some(offer.command(Verb::Prove).as_root().to_string())
            }
            None => Some(doctor.flag("watch", true).to_string()),
        }
    }
}
