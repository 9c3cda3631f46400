//! A job ends here with everything that it started, and nothing of it stays.

use std::fs;

use crosstie_launch::job_protocol::{JobCallError, StoppedRank};

use crate::{
    folder::{JobFolder, SystemdManager, is_root},
    linger, unit,
};

/// This one, or all.
pub(crate) fn stop(job: Option<&str>) -> Result<Vec<StoppedRank>, JobCallError> {
    let all = JobFolder::all()?;
    let mut stopped = Vec::new();
    let mut remaining = all.clone();
    for folder in all {
        if job.is_some_and(|job| job != folder.job) {
            continue;
        }
        let rank = folder.rank().map_or(0, |rank| rank.plan.rank);
        remaining.retain(|other| other != &folder);
        stopped.push(StoppedRank {
            job: folder.job.clone(),
            rank,
            left: end(&folder, &remaining),
        });
    }
    if is_root() {
        JobFolder::remove_empty();
    }
    Ok(stopped)
}

fn end(folder: &JobFolder, others: &[JobFolder]) -> Vec<String> {
    if let Err(why) = unit::stop(folder) {
        // Its folder stays, so that it can be stopped again.
        return vec![format!("{} is not stopped: {why}", folder.unit())];
    }
    remove(folder, others)
}

/// What is left of a job of which nothing runs any more; what could not be removed comes back.
pub(crate) fn remove(folder: &JobFolder, others: &[JobFolder]) -> Vec<String> {
    let mut left = Vec::new();
    if let Err(why) = linger::release(folder, others) {
        left.push(format!(
            "{} still lingers: {why}; `loginctl disable-linger` ends it",
            folder.owner.name
        ));
    }
    let is_rootless = folder.manager == SystemdManager::System && !is_root();
    let removed = if is_rootless {
        // The folder around it is root's.
        empty(folder)
    } else {
        fs::remove_dir_all(&folder.path)
    };
    if let Err(error) = removed {
        left.push(format!("{}: {error}", folder.path.display()));
    }
    left
}

fn empty(folder: &JobFolder) -> std::io::Result<()> {
    for entry in fs::read_dir(&folder.path)? {
        fs::remove_file(entry?.path())?;
    }
    Ok(())
}
