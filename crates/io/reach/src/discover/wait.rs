//! Waiting for one of several sockets.

use std::{
    io,
    os::fd::AsFd,
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
};

/// Waits until one of them has something to read, or `until`.
pub(super) fn readable(sockets: &[impl AsFd], until: Instant) -> io::Result<()> {
    let left = until.saturating_duration_since(Instant::now());
    let mut waited: Vec<PollFd<'_>> = sockets
        .iter()
        .map(|socket| PollFd::new(socket, PollFlags::IN))
        .collect();
    let timeout = Timespec::try_from(left.min(Duration::from_secs(60))).ok();
    match poll(&mut waited, timeout.as_ref()) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}
