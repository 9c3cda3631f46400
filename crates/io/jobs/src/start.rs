//! One rank is started.

use std::{fs, io};

use crosstie_launch::{
    format::{is_name, systemd_file},
    job_protocol::{JobCallError, RankFile},
};

use crate::{
    folder::{self, ENVIRONMENT, JobFolder, JobOwner, PROGRAM, RANK, SystemdManager},
    linger, system, unit,
};

/// Where programs of users are, besides the system's.
const PATHS: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Whatever fails, what was made before is in the job's folder, where `stop` finds it.
pub(crate) fn start(rank: &RankFile) -> Result<(), JobCallError> {
    let owner = JobOwner::find()?;
    let folder = JobFolder::new(folder::manager(), &owner, &rank.job)?;
    folder.make().map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => JobCallError::Exists(rank.job.clone()),
        _ => system(format!("make {}", folder.path.display()))(error),
    })?;
    let started = prepare(&folder, rank).and_then(|()| {
        linger::enable(&folder)?;
        let directory = owner
            .home
            .join(rank.directory.as_deref().unwrap_or_default());
        unit::start(&folder, &directory.display().to_string())
    });
    if started.is_err() {
        // Nothing runs, so nothing has to be stopped.
        let _ = linger::release(&folder, &JobFolder::all().unwrap_or_default());
        let _ = fs::remove_dir_all(&folder.path);
    }
    started
}

fn prepare(folder: &JobFolder, rank: &RankFile) -> Result<(), JobCallError> {
    let failed = |what: &str| system(format!("write the job's {what}"));
    let json = serde_json::to_vec(rank).map_err(|error| failed("description")(error.into()))?;
    let environment = environment(folder, rank)?;
    folder
        .write(RANK, &json, 0o600)
        .map_err(failed("description"))?;
    folder
        .write(ENVIRONMENT, environment.as_bytes(), 0o600)
        .map_err(failed("environment"))?;
    // The agent's own file may be gone before the unit starts, or be root's alone.
    let program = fs::read("/proc/self/exe").map_err(failed("program"))?;
    folder
        .write(PROGRAM, &program, 0o700)
        .map_err(failed("program"))?;
    folder.hand_over_folder().map_err(failed("folder"))
}

/// As systemd reads it. Values of the person's own are in this file alone.
fn environment(folder: &JobFolder, rank: &RankFile) -> Result<String, JobCallError> {
    let path = folder.path.display().to_string();
    let local = folder.owner.home.join(".local/bin");
    let mut all: Vec<(String, String)> = vec![
        ("PATH".to_owned(), format!("{PATHS}:{}", local.display())),
        (crate::rank::FOLDER_VARIABLE.to_owned(), path.clone()),
        // Else Python says nothing into a log until it has said 8 KiB.
        ("PYTHONUNBUFFERED".to_owned(), "1".to_owned()),
    ];
    if folder.manager == SystemdManager::User || folder.owner.user == 0 {
        let home = folder.owner.home.display().to_string();
        all.push(("HOME".to_owned(), home));
    }
    if rank.plan.starts_on_peers {
        let agent = format!("{path}/{PROGRAM} rank-shell");
        all.push(("OMPI_MCA_plm_rsh_agent".to_owned(), agent));
    }
    all.extend(rank.plan.environment.iter().cloned());
    if let Some((name, _)) = all
        .iter()
        .find(|(name, value)| !is_name(name) || value.contains('\0'))
    {
        return Err(JobCallError::System {
            what: format!("set the variable {name}"),
            why: "it is no name of a variable, or its value has a NUL character".to_owned(),
        });
    }
    let pairs = all
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()));
    Ok(systemd_file(pairs))
}
