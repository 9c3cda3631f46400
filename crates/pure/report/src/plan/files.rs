//! Files as they would be on a node.

use crosstie_model::{NodePlan, PlanStep, managed::with_block, plan::FileChange};

/// One file that a plan writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedFile {
    pub path: String,
    pub mode: u32,
    pub text: String,
}

/// Whole files of ours; of files that others write too, our block alone. Removed and renamed files are not among them.
pub fn files(plan: &NodePlan) -> Vec<PlannedFile> {
    let changes = plan.steps.iter().flat_map(PlanStep::files);
    changes.filter_map(planned_file).collect()
}

fn planned_file(change: &FileChange) -> Option<PlannedFile> {
    match change {
        FileChange::Whole { path, mode, text } => Some(PlannedFile {
            path: path.clone(),
            mode: mode.bits(),
            text: text.to.clone()?,
        }),
        FileChange::Block { path, place, text } => Some(PlannedFile {
            path: path.clone(),
            mode: 0o644,
            text: with_block(Some(""), text.to.as_deref(), *place)
                .filter(|text| !text.is_empty())?,
        }),
        FileChange::Aside { .. } => None,
    }
}
