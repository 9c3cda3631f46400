//! Locks on files. The kernel gives them up when the file is closed, also with a process that dies.

use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use rustix::{
    fs::{FlockOperation, flock},
    io::Errno,
};

const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Makes the file where there is none. `None` where somebody else has it for longer than `wait`.
pub fn take(path: &Path, wait: Duration) -> io::Result<Option<File>> {
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)?;
    Ok(is_given(&file, wait)?.then_some(file))
}

/// `false` where somebody else has it for longer than `wait`.
pub fn is_given(file: &File, wait: Duration) -> io::Result<bool> {
    let until = Instant::now() + wait;
    loop {
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(true),
            Err(Errno::WOULDBLOCK) if Instant::now() < until => thread::sleep(POLL_INTERVAL),
            Err(Errno::WOULDBLOCK) => return Ok(false),
            Err(errno) => return Err(errno.into()),
        }
    }
}
