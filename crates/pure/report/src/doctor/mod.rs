//! What `crosstie doctor` says: on a terminal, in Markdown, and what changed between two looks.

mod change;
mod markdown;
mod view;
mod watch;

use crosstie_doctor::Diagnosis;
use crosstie_model::Severity;

use crate::causes::RootFinding;

pub use change::{DiagnosisChange, change_line, changes};
pub use markdown::markdown;
pub use view::{FindingDetail, verdict, view};
pub use watch::{DoctorWatch, time_of_day};

/// The JSON schema of `doctor --json`.
pub fn schema() -> schemars::Schema {
    crate::document::document_schema::<Diagnosis>()
}

/// How many findings of each severity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FindingCounts {
    pub faults: usize,
    pub warnings: usize,
    pub infos: usize,
}

impl FindingCounts {
    pub fn of<'a>(severities: impl IntoIterator<Item = &'a Severity>) -> Self {
        let mut count = Self::default();
        for severity in severities {
            *match severity {
                Severity::Fault => &mut count.faults,
                Severity::Warning => &mut count.warnings,
                Severity::Info => &mut count.infos,
            } += 1;
        }
        count
    }

    /// What is to be mended, on each node that has it.
    pub fn of_roots(roots: &[RootFinding]) -> Self {
        let severities: Vec<Severity> = roots
            .iter()
            .flat_map(|root| std::iter::repeat_n(root.severity(), root.hosts.len().max(1)))
            .collect();
        Self::of(&severities)
    }

    /// `2 faults, 1 warning`; nothing for none.
    pub fn words(self) -> String {
        let words = [
            plural(self.faults, "fault"),
            plural(self.warnings, "warning"),
        ];
        let words: Vec<String> = words.into_iter().flatten().collect();
        words.join(", ")
    }
}

/// Nothing for none.
pub(crate) fn plural(count: usize, noun: &str) -> Option<String> {
    match count {
        0 => None,
        1 => Some(format!("1 {noun}")),
        count => Some(format!("{count} {noun}s")),
    }
}
