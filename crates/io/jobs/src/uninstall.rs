//! Before this tool leaves a node: nothing may run that only its folder knows of, and what ended jobs left goes.

use std::{fs, path::Path};

use crosstie_facts::ReadGap;
use crosstie_launch::job_protocol::JobCallError;

use crate::{
    folder::{JobFolder, SystemdManager},
    stop,
    unit::{self, UnitState},
};

/// Jobs that run, or of which nobody can say that they do not: as root everybody's that root started, and those of whoever
/// became root.
pub fn running() -> Result<Vec<String>, JobCallError> {
    Ok(running_of(JobFolder::all()?, unit::show))
}

fn running_of(
    folders: Vec<JobFolder>,
    show: impl Fn(&JobFolder) -> Result<UnitState, ReadGap>,
) -> Vec<String> {
    let running = folders.into_iter().filter(|folder| may_run(folder, &show));
    running.map(|folder| folder.job).collect()
}

fn may_run(folder: &JobFolder, show: impl Fn(&JobFolder) -> Result<UnitState, ReadGap>) -> bool {
    match show(folder) {
        Ok(state) => !state.is_over(),
        // There is no systemd.
        Err(ReadGap::Absent) => false,
        Err(_) => {
            folder.manager == SystemdManager::System || Path::new(&folder.owner.runtime()).exists()
        }
    }
}

/// Removes what ended jobs have left; what could not be removed comes back.
pub fn remove_ended() -> Vec<String> {
    let folders = match JobFolder::all() {
        Ok(folders) => folders,
        Err(error) => return vec![error.to_string()],
    };
    let mut left = Vec::new();
    let mut remaining = folders.clone();
    for folder in &folders {
        remaining.retain(|other| other != folder);
        if may_run(folder, unit::show) {
            left.push(format!("{} was started meanwhile, and runs", folder.unit()));
            continue;
        }
        left.extend(stop::remove(folder, &remaining));
        // Those around it, where nothing else is in them.
        for around in folder.path.ancestors().skip(1).take(2) {
            let _ = fs::remove_dir(around);
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::JobOwner;

    fn job(manager: SystemdManager, name: &str) -> JobFolder {
        let owner = JobOwner {
            // Nobody's: there is no `/run/user` of theirs.
            user: 4_000_000_000,
            group: 4_000_000_000,
            name: "alice".to_owned(),
            home: "/nowhere".into(),
        };
        JobFolder::new(manager, &owner, name).unwrap()
    }

    #[test]
    fn what_may_run_is_told_from_what_has_ended() {
        let state = |active: &str| {
            Ok(UnitState {
                active: active.to_owned(),
                main_pid: 0,
            })
        };
        let silent = || Err(ReadGap::Failed("no bus".to_owned()));
        let (system, user) = (SystemdManager::System, SystemdManager::User);
        let jobs = [
            (job(system, "llama-1"), state("active")),
            (job(system, "llama-2"), state("inactive")),
            (job(system, "llama-3"), state("failed")),
            (job(system, "llama-4"), state("deactivating")),
            (job(system, "llama-5"), silent()),
            (job(system, "llama-6"), Err(ReadGap::Absent)),
            (job(user, "llama-7"), state("activating")),
            // Their manager has ended, with all that it started.
            (job(user, "llama-8"), silent()),
        ];
        let folders = jobs.iter().map(|(folder, _)| folder.clone()).collect();
        let show = |folder: &JobFolder| {
            let mut all = jobs.iter();
            all.find(|(one, _)| one == folder).unwrap().1.clone()
        };
        assert_eq!(
            running_of(folders, show),
            ["llama-1", "llama-4", "llama-5", "llama-7"]
        );
    }
}
