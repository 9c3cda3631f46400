//! Processes that outlive their maker and are still found: by what they carry, not by what was written down about them.
//!
//! Every process of a lab has the lab's directory in its environment and the lab's `alive` file, share-locked, as its
//! standard input. Both are there from the first instruction on, so that a maker killed at any moment leaves nothing
//! that `end_all` cannot find, and an exclusive lock on `alive` proves that nothing is left.

use std::fs::{File, OpenOptions};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde::{Deserialize, Serialize};
use thiserror::Error;

pub(crate) const VARIABLE: &str = "CROSSTIE_LAB_OF";
const ALIVE: &str = "alive";
const POLL_INTERVAL: Duration = Duration::from_millis(20);
const TERM_TIMEOUT: Duration = Duration::from_secs(2);

/// A process, safe against reuse of its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessId {
    pub pid: i32,
    /// Clock ticks since the host's boot (`/proc/PID/stat`, field 22).
    pub start_time: u64,
}

#[derive(Debug, Error)]
pub enum EndProcessError {
    #[error("cannot look at {path}")]
    Look {
        path: String,
        #[source]
        source: std::io::Error,
    },
    #[error("processes {pids:?} of the lab did not end within {} s", .deadline.as_secs())]
    Left { pids: Vec<i32>, deadline: Duration },
}

impl ProcessId {
    pub(crate) fn of(pid: i32) -> Option<Self> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let start_time = start_time(&stat)?;
        Some(Self { pid, start_time })
    }

    pub fn alive(self) -> bool {
        Self::of(self.pid) == Some(self)
    }

    /// Waits until it is gone; false at the deadline.
    pub(crate) fn wait_gone(self, deadline: Duration) -> bool {
        let started = Instant::now();
        while self.alive() {
            if started.elapsed() > deadline {
                return false;
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        true
    }

    /// Sends the signal to this very process; nothing happens when it is gone.
    pub(crate) fn signal(self, signal: Signal) {
        let Some(pid) = Pid::from_raw(self.pid) else {
            return;
        };
        // The descriptor pins the process before its start time is compared.
        if let Ok(descriptor) = pidfd_open(pid, PidfdFlags::empty())
            && self.alive()
        {
            let _ = pidfd_send_signal(descriptor, signal);
        }
    }
}

/// When the process started, if any part of it still runs. The first thread of a killed process may be a zombie while the
/// others still hold its files, and the locks on them.
fn start_time(stat: &str) -> Option<u64> {
    // The name in parentheses may hold anything, parentheses included.
    let (_, rest) = stat.rsplit_once(") ")?;
    let mut fields = rest.split(' ');
    let state = fields.next()?;
    let threads: u32 = fields.nth(16)?.parse().ok()?;
    let start_time = fields.nth(1)?.parse().ok()?;
    (state != "Z" || threads > 1).then_some(start_time)
}

/// Starts a process of the lab, detached from the caller's terminal group, its output in `log`.
pub(crate) fn spawn(
    command: &mut Command,
    directory: &Path,
    log: &str,
) -> std::io::Result<ProcessId> {
    use std::os::unix::process::CommandExt;
    mark(command, directory)?;
    let log = OpenOptions::new()
        .create(true)
        .append(true)
        .open(directory.join(log))?;
    command
        .current_dir(directory)
        .stdout(log.try_clone()?)
        .stderr(log)
        .process_group(0);
    let mut child = command.spawn()?;
    let pid = i32::try_from(child.id()).map_err(std::io::Error::other)?;
    let id = ProcessId::of(pid);
    // A long-lived caller must not keep a zombie for each node it restarted.
    std::thread::spawn(move || child.wait());
    id.ok_or_else(|| std::io::Error::other("it ended at once"))
}

/// Makes the command's process one of the lab's.
pub(crate) fn mark(command: &mut Command, directory: &Path) -> std::io::Result<()> {
    let alive = alive_file(directory)?;
    flock(&alive, FlockOperation::NonBlockingLockShared)?;
    command.env(VARIABLE, directory).stdin(Stdio::from(alive));
    Ok(())
}

fn alive_file(directory: &Path) -> std::io::Result<File> {
    OpenOptions::new()
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .open(directory.join(ALIVE))
}

/// All processes of the lab at this directory, this one excepted.
pub(crate) fn of_lab(directory: &Path) -> Vec<ProcessId> {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    let mut wanted = format!("{VARIABLE}=").into_bytes();
    wanted.extend_from_slice(directory.as_os_str().as_encoded_bytes());
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok())
        .filter(|pid| u32::try_from(*pid) != Ok(std::process::id()))
        .filter(|pid| {
            std::fs::read(format!("/proc/{pid}/environ")).is_ok_and(|environment| {
                environment
                    .split(|byte| *byte == 0)
                    .any(|variable| variable == wanted)
            })
        })
        .filter_map(ProcessId::of)
        .collect()
}

/// Ends every process of the lab; returns how many there were, once nothing holds its `alive` file any more.
pub(crate) fn end_all(directory: &Path, deadline: Duration) -> Result<usize, EndProcessError> {
    let alive = alive_file(directory).map_err(|source| EndProcessError::Look {
        path: directory.join(ALIVE).display().to_string(),
        source,
    })?;
    let started = Instant::now();
    let mut seen = Vec::new();
    loop {
        let found = of_lab(directory);
        let signal = if started.elapsed() < TERM_TIMEOUT {
            Signal::TERM
        } else {
            Signal::KILL
        };
        for process in &found {
            if !seen.contains(process) {
                seen.push(*process);
                // A stopped process takes no other signal.
                process.signal(Signal::CONT);
                process.signal(signal);
            } else if signal == Signal::KILL {
                process.signal(signal);
            }
        }
        if found.is_empty() && flock(&alive, FlockOperation::NonBlockingLockExclusive).is_ok() {
            return Ok(seen.len());
        }
        if started.elapsed() > deadline {
            return Err(EndProcessError::Left {
                pids: found.iter().map(|process| process.pid).collect(),
                deadline,
            });
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_process_lives_as_long_as_one_of_its_threads() {
        let stat = |state: &str, threads: u32| {
            format!("7 (qemu) (x86) {state} 1 7 7 0 -1 4 0 0 0 0 5 6 0 0 20 0 {threads} 0 4711 0 0")
        };
        assert_eq!(start_time(&stat("S", 1)), Some(4711));
        assert_eq!(start_time(&stat("Z", 3)), Some(4711));
        assert_eq!(start_time(&stat("Z", 1)), None);
        assert_eq!(start_time("7 (qemu"), None);
    }

    #[test]
    fn processes_are_found_by_what_they_carry_and_ended() {
        let directory = tempfile::tempdir().unwrap();
        let first = spawn(
            Command::new("sh").args(["-c", "sleep 60 & sleep 60"]),
            directory.path(),
            "log",
        )
        .unwrap();
        assert!(first.alive());
        let deadline = Duration::from_secs(10);
        // The shell needs a moment before it has a child to be found.
        let started = Instant::now();
        while of_lab(directory.path()).len() < 2 && started.elapsed() < deadline {
            std::thread::sleep(POLL_INTERVAL);
        }
        let ended = end_all(directory.path(), deadline).unwrap();
        assert!(ended >= 2, "the shell and its child: {ended}");
        assert!(!first.alive());
        assert_eq!(end_all(directory.path(), deadline).unwrap(), 0);
    }

    #[test]
    fn one_that_ignores_the_polite_signal_is_killed() {
        let directory = tempfile::tempdir().unwrap();
        let script = "trap '' TERM; while :; do sleep 1; done";
        spawn(
            Command::new("sh").args(["-c", script]),
            directory.path(),
            "log",
        )
        .unwrap();
        std::thread::sleep(Duration::from_millis(200));
        end_all(directory.path(), Duration::from_secs(10)).unwrap();
    }

    #[test]
    fn a_number_used_again_is_another_process() {
        let me = ProcessId::of(i32::try_from(std::process::id()).unwrap()).unwrap();
        assert!(me.alive());
        let other = ProcessId {
            start_time: me.start_time + 1,
            ..me
        };
        assert!(!other.alive());
    }
}
