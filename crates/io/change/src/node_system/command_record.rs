//! Which process a trial's command is, for whoever rolls the trial back when the one that ran it was killed.

use std::{
    fs, io,
    path::PathBuf,
    process::Child,
    thread,
    time::{Duration, Instant},
};

use crosstie_durable::{AtomicWrite, RealDisk, private_folder};
use rustix::process::{Pid, Signal, kill_process_group};

use crate::{boot_notes, error::TrialError, system_access::SystemAccess};

/// For a command that was killed to be gone.
const END_TIMEOUT: Duration = Duration::from_secs(5);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A file that a boot takes, and with it every process.
#[derive(Debug)]
pub(super) struct CommandRecord {
    folder: PathBuf,
    path: PathBuf,
}

impl CommandRecord {
    pub(super) fn of(system: &dyn SystemAccess, transaction: &str) -> Self {
        Self::in_folder(system.path(boot_notes::FOLDER), transaction)
    }

    pub(super) fn in_folder(folder: PathBuf, transaction: &str) -> Self {
        let path = folder.join(format!("{transaction}.command"));
        Self { folder, path }
    }

    /// It leads a process group.
    pub(super) fn save(&self, child: &Child) -> Result<(), TrialError> {
        let pid = Pid::from_child(child);
        // One that has ended by now has a time as well, until it is waited for.
        let Some(start) = start_time(pid) else {
            return Ok(());
        };
        let text = format!("{} {start}\n", pid.as_raw_nonzero());
        let written = private_folder(&RealDisk, &self.folder).and_then(|()| {
            AtomicWrite::new(&self.path, 0o600)
                .without_sync()
                .write(&RealDisk, text.as_bytes())
        });
        written.map_err(|source| TrialError::Record {
            path: self.path.display().to_string(),
            source,
        })
    }

    /// The command has ended.
    pub(super) fn remove(&self) {
        let _ = fs::remove_file(&self.path);
    }

    /// Ends a command that still runs, with its group. What one that has ended left running is nobody's.
    pub(super) fn end_command(&self) -> io::Result<()> {
        let text = match fs::read_to_string(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            text => text?,
        };
        let mut words = text.split_whitespace();
        let pid = words.next().and_then(|word| word.parse().ok());
        let (Some(pid), Some(start)) = (pid.and_then(Pid::from_raw), words.next()) else {
            return Err(io::ErrorKind::InvalidData.into());
        };
        // By then the number may be another's.
        let runs = || start_time(pid).is_some_and(|found| found == start);
        if runs() {
            kill_process_group(pid, Signal::KILL)?;
        }
        let until = Instant::now() + END_TIMEOUT;
        while runs() {
            if Instant::now() >= until {
                return Err(io::ErrorKind::TimedOut.into());
            }
            thread::sleep(POLL_INTERVAL);
        }
        self.remove();
        Ok(())
    }
}

/// When a process that has not ended yet was started, in the kernel's own count (`proc_pid_stat(5)`).
fn start_time(pid: Pid) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    // A name may hold anything, brackets too.
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut fields = after_name.split_whitespace();
    if matches!(fields.next()?, "Z" | "X") {
        return None;
    }
    // The 22nd of all; state was the third.
    fields.nth(18).map(str::to_owned)
}
