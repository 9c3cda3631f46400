//! Pages and comparisons of stored runs.

use std::path::{Path, PathBuf};

use crosstie_model::run::StoredRun;
use crosstie_report::{
    compare::{RunComparison, comparison},
    run_report::{RunReport, report_of},
    share::{anonymise, anonymise_together},
};

use crate::runs::{RunsError, newest_run_of, read_run};

/// Of which runs, and what becomes of them.
pub struct ReportOptions<'a> {
    /// Whose newest run is meant where no run is named.
    pub cluster: &'a Path,
    /// Names are replaced, so that it can be posted.
    pub share: bool,
    /// Where the page will go.
    pub page: Option<&'a Path>,
}

#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    #[error("{} is the run itself: give the page another file by -o", page.display())]
    IsTheRun { page: PathBuf },
    #[error(transparent)]
    Runs(#[from] RunsError),
}

/// Of one run: this one, or the cluster's newest.
pub fn report(run: Option<&Path>, options: &ReportOptions) -> Result<RunReport, ReportError> {
    let newest = || newest_run_of(options.cluster);
    let run = run.map_or_else(newest, |run| Ok(run.to_owned()))?;
    let stored = options.read(&run)?;
    Ok(if options.share {
        let (shared, replaced) = anonymise(&stored);
        report_of(&shared, Some(replaced))
    } else {
        report_of(&stored, None)
    })
}

/// What changed from one run to a later one.
pub fn compare(
    old: &Path,
    new: &Path,
    options: &ReportOptions,
) -> Result<RunComparison, ReportError> {
    let stored: [StoredRun; 2] = [options.read(old)?, options.read(new)?];
    let (runs, replaced) = if options.share {
        let (runs, replaced) = anonymise_together(&stored);
        (runs, Some(replaced))
    } else {
        (stored, None)
    };
    let [old, new] = &runs;
    let reports = [report_of(old, None), report_of(new, None)];
    Ok(comparison([old, new], [&reports[0], &reports[1]], replaced))
}

impl ReportOptions<'_> {
    /// A page never takes the place of a run that it is made of.
    fn read(&self, run: &Path) -> Result<StoredRun, ReportError> {
        let real = |path: &Path| path.canonicalize().ok();
        let replaces = |page: &&Path| real(page).is_some() && real(page) == real(run);
        match self.page.filter(replaces) {
            Some(page) => Err(ReportError::IsTheRun {
                page: page.to_owned(),
            }),
            None => Ok(read_run(run)?),
        }
    }
}
