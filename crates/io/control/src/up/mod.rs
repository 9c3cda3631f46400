//! From cabled to proven.
//!
//! ```text
//! scan ─▶ cabling ─▶ doctor ─▶ plan, one question ─▶ apply ─▶ proof ─▶ measure ─▶ env
//! ```
//!
//! Every stage looks for itself what there is to do, so a run that was cut short is finished by another.

mod measure;
mod prove;
mod record;
mod run;
mod settle_open_changes;
mod stages;
#[cfg(test)]
mod tests;

use std::{
    fmt,
    path::{Path, PathBuf},
};

use crosstie_launch::format::EnvFormatError;
use crosstie_model::{ClusterSpec, spec::SpecProblem};
use crosstie_plan::InvalidSpecError;
use crosstie_report::up::UpReport;

use crate::{
    ClusterFileReadError, CommandVerdict, Consent, ConsentError, ControlEvent, NoRandomNumbers,
    RequestedTargets, SnapshotError,
    apply::{APPLY_PURPOSE, ApplyError, ApplyOptions},
    files::{CreateFolderError, FileWriteError, InvalidFolderName},
    init::{InitError, members},
    plan::{PlanError, with_lines},
    prove::ProveError,
    read_existing,
};
pub use record::UpRecordLockError;
use run::UpRunner;

pub struct UpOptions {
    /// The cluster file.
    pub file: PathBuf,
    /// What a new cluster is called.
    pub name: Option<String>,
    pub apply: ApplyOptions,
    /// What every port carries is measured, quickly.
    pub measure: bool,
    /// And a page made of it.
    pub report: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum UpError {
    #[error(transparent)]
    ClusterFile(#[from] ClusterFileReadError),
    #[error(transparent)]
    Consent(#[from] ConsentError),
    #[error(transparent)]
    NoRandomNumbers(#[from] NoRandomNumbers),
    #[error(transparent)]
    FolderName(#[from] InvalidFolderName),
    #[error(transparent)]
    Folder(#[from] CreateFolderError),
    #[error(transparent)]
    Record(#[from] UpRecordLockError),
    #[error(transparent)]
    Write(#[from] FileWriteError),
    #[error(transparent)]
    Settings(#[from] EnvFormatError),
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    #[error(transparent)]
    Init(#[from] InitError),
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error(transparent)]
    Apply(#[from] ApplyError),
    #[error(transparent)]
    Measure(#[from] ProveError),
}

/// Why a run ends before its last stage.
#[derive(Debug)]
pub enum UpHalt {
    /// A person can see why.
    Stop {
        why: String,
        verdict: CommandVerdict,
    },
    Error(UpError),
}

impl UpHalt {
    fn stop(why: &impl fmt::Display, verdict: CommandVerdict) -> Self {
        let why = why.to_string();
        Self::Stop { why, verdict }
    }
}

impl<E: Into<UpError>> From<E> for UpHalt {
    fn from(error: E) -> Self {
        Self::Error(error.into())
    }
}

/// What was done, and why it ended.
pub struct UpRun {
    pub up: UpReport,
    pub ended: Result<(), UpHalt>,
}

/// A file that no plan can be made of is told before anything is added to it. A cable may name a node that this run adds.
fn plannable(spec: &ClusterSpec, targets: &RequestedTargets, file: &Path) -> Result<(), PlanError> {
    let of_lab = targets.lab.iter().flat_map(|lab| &lab.nodes);
    let named: Vec<&String> = targets.nodes.iter().chain(of_lab).collect();
    let is_added = |problem: &SpecProblem| match problem {
        SpecProblem::UnknownNode { node, .. } => named.contains(&node),
        // Its cable may be found.
        SpecProblem::UnusedPlane(_) => true,
        _ => false,
    };
    let mut faults = spec.check();
    faults.retain(|fault| !is_added(&fault.problem));
    if faults.is_empty() {
        return Ok(());
    }
    Err(with_lines(InvalidSpecError { faults }, Some(file)))
}

/// An error is one before the first stage.
pub fn up(
    targets: &RequestedTargets,
    options: &UpOptions,
    consent: &Consent,
) -> Result<UpRun, UpError> {
    let existing = read_existing(&options.file)?;
    let spec = existing.as_ref().map(|existing| &existing.spec);
    if let Some(spec) = spec {
        plannable(spec, targets, &options.file)?;
    }
    let fleet = members(targets, spec)?;
    consent.is_possible(APPLY_PURPOSE)?;
    let mut run = UpRunner::new(options, consent, existing, fleet)?;
    let ended = run.all();
    run.up.conclude();
    run.tell(ControlEvent::UpEnded {
        went_well: ended.is_ok(),
    });
    run.fleet.options().last_words("");
    Ok(UpRun { up: run.up, ended })
}
