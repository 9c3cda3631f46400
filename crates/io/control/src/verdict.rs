//! How a command ended, in one word.

use crosstie_report::change::{Changes, Outcome};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// All is as it was asked for.
    Clean,
    /// Something is not.
    Faults,
    /// It could not be done, or nobody knows whether it was.
    Failed,
}

impl Verdict {
    /// Of nodes that were changed; `undone` where a rollback is what was asked for.
    pub fn of(changes: &Changes, undone: bool) -> Self {
        let mut outcomes = changes.nodes.iter().map(|change| change.outcome);
        if outcomes.clone().any(|outcome| outcome == Outcome::Failed) {
            Self::Failed
        } else if outcomes
            .all(|outcome| outcome.is_fine() || (undone && outcome == Outcome::RolledBack))
        {
            Self::Clean
        } else {
            Self::Faults
        }
    }
}
