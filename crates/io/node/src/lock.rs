//! Locks on files. The kernel gives them up when the file is closed, also with a process that dies.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::{MetadataExt, OpenOptionsExt},
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
    let until = Instant::now() + wait;
    loop {
        let file = open(path)?;
        if !wait_for_lock(&file, until.saturating_duration_since(Instant::now()))? {
            return Ok(None);
        }
        if is_at(&file, path)? {
            return Ok(Some(file));
        }
        if Instant::now() >= until {
            return Ok(None);
        }
    }
}

/// A file that cannot be written, as on a disk that is read-only by now, is locked all the same.
fn open(path: &Path) -> io::Result<File> {
    let mut writable = OpenOptions::new();
    writable.write(true).create(true).truncate(false);
    let opened = writable.mode(0o600).open(path);
    opened.or_else(|error| File::open(path).map_err(|_| error))
}

/// `false` where somebody else has it for longer than `wait`.
pub fn wait_for_lock(file: &File, wait: Duration) -> io::Result<bool> {
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

/// Whether the file is still the one of this name: who had the lock before may have removed it, and then the next one makes
/// and locks another.
pub fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let ours = file.metadata()?;
    match fs::symlink_metadata(path) {
        Ok(there) => Ok((there.dev(), there.ino()) == (ours.dev(), ours.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn whoever_waited_for_a_file_that_was_removed_locks_its_successor() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let first = take(&path, Duration::ZERO).unwrap().unwrap();
        thread::scope(|scope| {
            let waiter = scope.spawn(|| take(&path, Duration::from_secs(10)).unwrap().unwrap());
            thread::sleep(Duration::from_millis(200));
            fs::remove_file(&path).unwrap();
            drop(first);
            let _second = waiter.join().unwrap();
            let third = take(&path, Duration::ZERO).unwrap();
            assert!(third.is_none(), "two have the lock at once");
        });
    }

    /// A program that runs is one that not even root may open for writing.
    #[test]
    fn a_file_that_cannot_be_written_is_locked() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        fs::copy("/bin/sleep", &path).unwrap();
        let mut running = Command::new(&path).arg("30").spawn().unwrap();
        let taken = take(&path, Duration::ZERO);
        let again = take(&path, Duration::ZERO);
        running.kill().unwrap();
        running.wait().unwrap();
        assert!(taken.unwrap().is_some() && again.unwrap().is_none());
    }
}
