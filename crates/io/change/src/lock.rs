//! One change at a time on a node.

use std::{
    fs::{self, File},
    io::{self, Read, Seek, Write},
    path::Path,
    time::Duration,
};

use crosstie_durable::{RealDisk, private_folder};
use rustix::process::{Pid, PidfdFlags, Signal, getpid, pidfd_open, pidfd_send_signal};

use crosstie_node::lock;

pub(super) const FILE_NAME: &str = "lock";

/// Held as long as the value lives; the kernel gives it up with the process.
#[derive(Debug)]
pub(super) struct ChangeLock(#[expect(dead_code, reason = "held for its lock")] File);

/// `None` where somebody else has it for longer than `wait`.
pub(super) fn acquire(state: &Path, wait: Duration) -> io::Result<Option<ChangeLock>> {
    private_folder(&RealDisk, state)?;
    let Some(mut file) = lock::take(&state.join(FILE_NAME), wait)? else {
        return Ok(None);
    };
    // For the guard, which must get past a holder that hangs.
    let _ = file.set_len(0);
    let _ = file.rewind();
    let _ = write!(file, "{}", std::process::id());
    Ok(Some(ChangeLock(file)))
}

/// Who had it last.
fn last_holder(state: &Path) -> Option<Pid> {
    let mut text = String::new();
    let file = File::open(state.join(FILE_NAME)).ok()?;
    file.take(32).read_to_string(&mut text).ok()?;
    Pid::from_raw(text.trim().parse().ok()?)
}

/// Nobody has taken it since this process did.
pub(super) fn last_taken_by_us(state: &Path) -> bool {
    last_holder(state) == Some(getpid())
}

/// Ends whoever holds the lock: the guard's last means against one that hangs.
pub(super) fn kill_holder(state: &Path) {
    let Some(pid) = last_holder(state) else {
        return;
    };
    // The number may have been used again: only a program of ours is ended.
    let Ok(descriptor) = pidfd_open(pid, PidfdFlags::empty()) else {
        return;
    };
    let command = fs::read(format!("/proc/{}/cmdline", pid.as_raw_nonzero())).unwrap_or_default();
    let is_ours = command
        .split(|byte| *byte == 0)
        .any(|word| word == b"agent" || word == b"guard");
    if is_ours {
        let _ = pidfd_send_signal(descriptor, Signal::KILL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_took_it_last_is_known() {
        let state = tempfile::tempdir().unwrap();
        assert!(!last_taken_by_us(state.path()));
        let lock = acquire(state.path(), Duration::ZERO).unwrap();
        assert!(lock.is_some() && last_taken_by_us(state.path()));
        fs::write(state.path().join(FILE_NAME), "1").unwrap();
        assert!(!last_taken_by_us(state.path()));
    }
}
