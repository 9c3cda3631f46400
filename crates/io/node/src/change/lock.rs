//! One change at a time on a node.

use std::{
    fs::{self, File},
    io::{self, Read, Seek, Write},
    path::Path,
    time::Duration,
};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::store;
use crate::lock;

const LOCK: &str = "lock";

/// Held as long as the value lives; the kernel gives it up with the process.
#[derive(Debug)]
pub(super) struct Lock(#[expect(dead_code, reason = "held for its lock")] File);

/// `None` where somebody else has it for longer than `wait`.
pub(super) fn take(state: &Path, wait: Duration) -> io::Result<Option<Lock>> {
    store::private_folder(state)?;
    let Some(mut file) = lock::take(&state.join(LOCK), wait)? else {
        return Ok(None);
    };
    // For the guard, which must get past a holder that hangs.
    let _ = file.set_len(0);
    let _ = file.rewind();
    let _ = write!(file, "{}", std::process::id());
    Ok(Some(Lock(file)))
}

/// Ends whoever holds the lock: the guard's last means against one that hangs.
pub(super) fn end_holder(state: &Path) {
    let mut text = String::new();
    let read =
        File::open(state.join(LOCK)).and_then(|file| file.take(32).read_to_string(&mut text));
    let holder = read.ok().and_then(|_| text.trim().parse().ok());
    let Some(pid) = holder.and_then(Pid::from_raw) else {
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
