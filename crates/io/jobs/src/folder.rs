//! Where jobs lie on a node, and whose they are.
//!
//! As root: `/var/lib/crosstie/jobs/JOB`, of the user who became root; without root: the same below the user's state folder.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::{OpenOptionsExt, fchown},
    path::{Path, PathBuf},
    time::Duration,
};

use crosstie_durable::{
    AtomicWrite, FileOperations, RealDisk, make_folder, parent_folder, read_bounded,
};
use crosstie_launch::job_protocol::{JobCallError, RankFile, RankState, is_job_name};
use crosstie_node::trust::HomeFolder;
use rustix::{fs::OFlags, process::geteuid};
use serde::de::DeserializeOwned;

use crate::system;

const SYSTEM_JOBS: &str = "/var/lib/crosstie/jobs";
/// All of them together.
const MAX_JOBS: usize = 256;
const EMPTY_FOLDER_TIMEOUT: Duration = Duration::from_secs(600);
/// Of a rank's file or state.
const MAX_FILE: u64 = 1 << 20;

pub(crate) const RANK: &str = "rank.json";
pub(crate) const STATE: &str = "state.json";
pub(crate) const ENVIRONMENT: &str = "environment";
pub(crate) const PROGRAM: &str = "program";
pub(crate) const LOG: &str = "log";
pub(crate) const ANSWER: &str = "answer";
/// Where programs of the job ask for others to be started on other nodes.
pub(crate) const START_SOCKET: &str = "start.sock";

/// Who runs the ranks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JobOwner {
    pub(crate) user: u32,
    pub(crate) group: u32,
    pub(crate) name: String,
    pub(crate) home: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SystemdManager {
    /// Process 1.
    System,
    /// The user's own.
    User,
}

/// One job's folder, which may not be there yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JobFolder {
    pub(crate) manager: SystemdManager,
    pub(crate) owner: JobOwner,
    pub(crate) path: PathBuf,
    pub(crate) job: String,
}

impl JobOwner {
    /// Whoever became root by sudo, else who this is.
    pub(crate) fn find() -> Result<Self, JobCallError> {
        let number = |name: &str| std::env::var(name).ok()?.parse::<u32>().ok();
        let own = geteuid().as_raw();
        let (user, group) = match number("SUDO_UID").zip(number("SUDO_GID")) {
            Some(sudo) if own == 0 => sudo,
            _ => (own, rustix::process::getegid().as_raw()),
        };
        let (name, home) = HomeFolder::account(user).map_err(|error| JobCallError::System {
            what: format!("find the home directory of user {user}"),
            why: error.to_string(),
        })?;
        Ok(Self {
            user,
            group,
            name,
            home,
        })
    }

    /// Where the user's own manager is reached, as long as there is one.
    pub(crate) fn runtime(&self) -> String {
        format!("/run/user/{}", self.user)
    }
}

pub(crate) fn is_root() -> bool {
    geteuid().is_root()
}

/// Of new jobs.
pub(crate) fn manager() -> SystemdManager {
    if is_root() {
        SystemdManager::System
    } else {
        SystemdManager::User
    }
}

fn jobs_folder(manager: SystemdManager, owner: &JobOwner) -> PathBuf {
    match manager {
        SystemdManager::System => SYSTEM_JOBS.into(),
        SystemdManager::User => owner.home.join(".local/state/crosstie/jobs"),
    }
}

impl JobFolder {
    pub(crate) fn new(
        manager: SystemdManager,
        owner: &JobOwner,
        job: &str,
    ) -> Result<Self, JobCallError> {
        if !is_job_name(job) {
            return Err(JobCallError::Name(job.to_owned()));
        }
        Ok(Self {
            manager,
            owner: owner.clone(),
            path: jobs_folder(manager, owner).join(job),
            job: job.to_owned(),
        })
    }

    /// Every job of this user's, and of those that root started for them.
    pub(crate) fn all() -> Result<Vec<Self>, JobCallError> {
        let owner = JobOwner::find()?;
        let mut found = Vec::new();
        for manager in [SystemdManager::System, SystemdManager::User] {
            let folder = jobs_folder(manager, &owner);
            let entries = match fs::read_dir(&folder) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                entries => entries.map_err(system(format!("list {}", folder.display())))?,
            };
            for entry in entries.flatten().take(MAX_JOBS) {
                let name = entry.file_name();
                let Some(job) = name.to_str().filter(|name| is_job_name(name)) else {
                    continue;
                };
                let folder = Self::new(manager, &owner, job)?;
                // Somebody else's is not ours to see; an empty one is what somebody without root left.
                if folder.is_visible() {
                    found.push(folder);
                }
            }
        }
        found.sort_by(|a, b| a.job.cmp(&b.job));
        Ok(found)
    }

    /// As root: folders that users without root have emptied. One that is being filled now is younger.
    pub(crate) fn remove_empty() {
        let entries = fs::read_dir(SYSTEM_JOBS).into_iter().flatten().flatten();
        for entry in entries {
            let changed = entry.metadata().and_then(|status| status.modified());
            let age = changed.ok().and_then(|changed| changed.elapsed().ok());
            if age.is_some_and(|age| age >= EMPTY_FOLDER_TIMEOUT) {
                // It refuses where something is in it.
                let _ = fs::remove_dir(entry.path());
            }
        }
    }

    fn is_visible(&self) -> bool {
        fs::read_dir(&self.path).is_ok_and(|mut entries| entries.next().is_some())
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    pub(crate) fn rank(&self) -> io::Result<RankFile> {
        read_json(&self.file(RANK))
    }

    pub(crate) fn state(&self) -> Option<RankState> {
        read_json(&self.file(STATE)).ok()
    }

    pub(crate) fn unit(&self) -> String {
        format!("crosstie-job-{}.service", self.job)
    }

    /// Made, and closed to everybody else. Its owner gets it last, so that nothing in it can be theirs before.
    pub(crate) fn make(&self) -> io::Result<()> {
        let parent = parent_folder(&self.path);
        let mode = match self.manager {
            SystemdManager::System => 0o755,
            SystemdManager::User => 0o700,
        };
        make_folder(&RealDisk, parent, mode)?;
        RealDisk.create_folder(&self.path, 0o700)?;
        RealDisk.sync_folder(parent)
    }

    /// Only the owner can read it. No job outlives a boot, so a power cut may take it.
    pub(crate) fn write(&self, name: &str, bytes: &[u8], mode: u32) -> io::Result<()> {
        AtomicWrite::new(&self.file(name), mode)
            .without_sync()
            .write_as(&RealDisk, bytes, |file| self.hand_over(file))
    }

    /// A file without bytes that is there after a boot, too: for what a job changes that outlives it.
    pub(crate) fn mark(&self, name: &str) -> io::Result<()> {
        AtomicWrite::new(&self.file(name), 0o600)
            .write_as(&RealDisk, b"", |file| self.hand_over(file))
    }

    pub(crate) fn hand_over(&self, file: &File) -> io::Result<()> {
        if self.manager == SystemdManager::System {
            fchown(file, Some(self.owner.user), Some(self.owner.group))?;
        }
        Ok(())
    }

    pub(crate) fn hand_over_folder(&self) -> io::Result<()> {
        self.hand_over(&File::open(&self.path)?)
    }
}

/// No link is followed: the folder is a user's, and this may be root.
pub(crate) fn open_file(path: &Path) -> io::Result<File> {
    let no_link = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    OpenOptions::new()
        .read(true)
        .custom_flags(no_link)
        .open(path)
}

pub(crate) fn read_json<T: DeserializeOwned>(path: &Path) -> io::Result<T> {
    let bytes = read_bounded(open_file(path)?, MAX_FILE)?;
    Ok(serde_json::from_slice(&bytes)?)
}
