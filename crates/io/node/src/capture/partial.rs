//! Something half made beside its final place, which takes that place whole or goes away.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicU32, Ordering},
};

use crosstie_durable::{parent_folder, sync_folder};
use rustix::{
    fs::{CWD, RenameFlags, renameat_with},
    io::Errno,
};

use super::CaptureWriteError;

static COUNTER: AtomicU32 = AtomicU32::new(0);

pub(super) struct PartialFile<'a> {
    target: &'a Path,
    parent: PathBuf,
    path: PathBuf,
}

impl<'a> PartialFile<'a> {
    /// Picks a hidden name in the directory of `target`; the caller makes a file or directory of it, exclusively.
    pub(super) fn beside(target: &'a Path) -> Result<Self, CaptureWriteError> {
        if target.file_name().is_none() {
            let path = target.to_owned();
            return Err(CaptureWriteError::Name { path });
        }
        let parent = parent_folder(target).to_owned();
        let path = loop {
            // Names that a killed run of the same process number left behind are passed over.
            let number = COUNTER.fetch_add(1, Ordering::Relaxed);
            let path = parent.join(format!(".crosstie-{}-{number}.partial", process::id()));
            if fs::symlink_metadata(&path).is_err() {
                break path;
            }
        };
        Ok(Self {
            target,
            parent,
            path,
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Moves it to its place, unless something came to be there meanwhile.
    pub(super) fn publish(self) -> Result<(), CaptureWriteError> {
        let target = || self.target.to_owned();
        match move_to_free_place(&self.path, self.target) {
            Ok(()) => {}
            Err(Errno::EXIST | Errno::NOTEMPTY) => {
                return Err(CaptureWriteError::Exists { path: target() });
            }
            Err(error) => {
                return Err(CaptureWriteError::Io {
                    action: "move the finished capture to",
                    path: target(),
                    source: error.into(),
                });
            }
        }
        sync_folder(&self.parent).map_err(|source| CaptureWriteError::Io {
            action: "flush",
            path: self.parent.clone(),
            source,
        })
    }
}

impl Drop for PartialFile<'_> {
    /// After a move there is nothing here any more.
    fn drop(&mut self) {
        let removed = match fs::symlink_metadata(&self.path) {
            Ok(status) if status.is_dir() => fs::remove_dir_all(&self.path),
            Ok(_) => fs::remove_file(&self.path),
            Err(_) => return,
        };
        if let Err(error) = removed {
            tracing::warn!(path = %self.path.display(), %error, "cannot remove a half-made capture");
        }
    }
}

fn move_to_free_place(from: &Path, to: &Path) -> Result<(), Errno> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // NFS and 9p know no such flag: look first, at the price of a gap between the two.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => match fs::symlink_metadata(to) {
            Ok(_) => Err(Errno::EXIST),
            Err(error) if error.kind() == io::ErrorKind::NotFound => rustix::fs::rename(from, to),
            Err(error) => Err(Errno::from_io_error(&error).unwrap_or(Errno::IO)),
        },
        result => result,
    }
}
