//! Locks on files that may be removed while they are held.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use thiserror::Error;

const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Held until dropped.
#[derive(Debug)]
pub(crate) struct LabLock {
    file: File,
    path: PathBuf,
}

#[derive(Debug, Error)]
pub enum LabLockError {
    #[error("cannot open the lock {path}")]
    Open {
        path: String,
        #[source]
        source: std::io::Error,
    },
    #[error("another command has held {path} for {} s; wait for it, or end it", .waited.as_secs())]
    Busy { path: String, waited: Duration },
}

impl LabLock {
    pub(crate) fn take(path: &Path, deadline: Duration) -> Result<Self, LabLockError> {
        let started = Instant::now();
        loop {
            let file = open(path)?;
            if flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() {
                // Its holder may have removed the file between our open and our lock.
                if is_at(&file, path) {
                    return Ok(Self {
                        file,
                        path: path.to_owned(),
                    });
                }
                continue;
            }
            if started.elapsed() > deadline {
                return Err(LabLockError::Busy {
                    path: path.display().to_string(),
                    waited: deadline,
                });
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// Lets go and leaves no file behind.
    pub(crate) fn remove(self) {
        let _ = std::fs::remove_file(&self.path);
        drop(self.file);
    }
}

fn open(path: &Path) -> Result<File, LabLockError> {
    let failed = |source| LabLockError::Open {
        path: path.display().to_string(),
        source,
    };
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).map_err(failed)?;
    }
    OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(path)
        .map_err(failed)
}

fn is_at(file: &File, path: &Path) -> bool {
    match (file.metadata(), std::fs::metadata(path)) {
        (Ok(ours), Ok(there)) => ours.ino() == there.ino() && ours.dev() == there.dev(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_held_lock_is_busy_and_a_removed_one_is_free() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("deep/lock");
        let held = LabLock::take(&path, Duration::ZERO).unwrap();
        let error = LabLock::take(&path, Duration::ZERO).unwrap_err();
        assert!(matches!(error, LabLockError::Busy { .. }));
        held.remove();
        assert!(!path.exists());
        LabLock::take(&path, Duration::ZERO).unwrap();
    }
}
