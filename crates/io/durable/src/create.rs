//! Bytes become a file.

use std::{
    fs::{File, OpenOptions, Permissions},
    io::{self, Write},
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicU32, Ordering},
};

use serde::Serialize;

use crate::{FileOperations, parent_folder, remove};

/// Files of older builds are found by it.
const TEMPORARY: &str = ".crosstie-half-made";

static COUNTER: AtomicU32 = AtomicU32::new(0);
/// Temporary names that killed processes of the same number may have left in a folder.
const ATTEMPTS: u32 = 1000;

/// Every file of a folder is replaced through the same temporary name, so that the next run finds what a killed one left.
/// Whoever writes there holds a lock.
pub fn temporary_name(path: &Path) -> PathBuf {
    parent_folder(path).join(TEMPORARY)
}

/// Writes a file of ours. `Ok` means that it survives a power cut.
pub fn write(
    operations: &dyn FileOperations,
    path: &Path,
    bytes: &[u8],
    mode: u32,
) -> io::Result<()> {
    AtomicWrite::new(path, mode).write(operations, bytes)
}

/// `prepare` gives the file its owner and what else it needs before it has its name.
pub fn write_with_metadata(
    operations: &dyn FileOperations,
    path: &Path,
    bytes: &[u8],
    mode: u32,
    prepare: impl FnOnce(&File) -> io::Result<()>,
) -> io::Result<()> {
    AtomicWrite::new(path, mode).write_as(operations, bytes, prepare)
}

/// How a file is written. What was at its path, be it a link, is replaced.
#[derive(Debug, Clone)]
#[must_use]
pub struct AtomicWrite<'a> {
    path: &'a Path,
    /// `None`: one that nobody else uses.
    temporary: Option<PathBuf>,
    /// `None`: as the process's umask has it.
    mode: Option<u32>,
    replaces: bool,
    survives_power_cut: bool,
}

impl<'a> AtomicWrite<'a> {
    pub fn new(path: &'a Path, mode: u32) -> Self {
        Self {
            path,
            temporary: Some(temporary_name(path)),
            mode: Some(mode),
            replaces: true,
            survives_power_cut: true,
        }
    }

    /// With the mode that the process's umask gives to new files.
    pub fn with_mode_of_umask(path: &'a Path) -> Self {
        Self {
            mode: None,
            ..Self::new(path, 0)
        }
    }

    /// Under this name until it is whole. What is there is written over.
    pub fn through(mut self, temporary: PathBuf) -> Self {
        self.temporary = Some(temporary);
        self
    }

    /// For those who hold no lock: several may write at once, and one of them is the last. What a killed one leaves stays.
    pub fn via_unique_temporary(mut self) -> Self {
        self.temporary = None;
        self
    }

    /// What is there stays: an error of the kind `AlreadyExists`.
    pub fn without_replacing(mut self) -> Self {
        self.replaces = false;
        self
    }

    /// Nobody sees half of it, but a power cut may take it, or its bytes: for what is worth nothing after a boot.
    pub fn without_sync(mut self) -> Self {
        self.survives_power_cut = false;
        self
    }

    pub fn write(&self, operations: &dyn FileOperations, bytes: &[u8]) -> io::Result<()> {
        self.write_as(operations, bytes, |_| Ok(()))
    }

    /// For people to read, too.
    pub fn write_json(
        &self,
        operations: &dyn FileOperations,
        value: &impl Serialize,
    ) -> io::Result<()> {
        self.write(operations, &serde_json::to_vec_pretty(value)?)
    }

    /// `prepare` gives the file its owner and what else it needs before it has its name.
    pub fn write_as(
        &self,
        operations: &dyn FileOperations,
        bytes: &[u8],
        prepare: impl FnOnce(&File) -> io::Result<()>,
    ) -> io::Result<()> {
        self.write_with(operations, |file| {
            let (first, rest) = bytes.split_at(bytes.len() / 2);
            file.write_all(first)?;
            operations.edge("half of a file is written");
            file.write_all(rest)?;
            prepare(file)
        })
    }

    /// For what nobody has in memory: `write_content` does it, and gives it its owner.
    pub fn write_with(
        &self,
        operations: &dyn FileOperations,
        write_content: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> io::Result<()> {
        let (mut file, temporary) = self.create()?;
        let written = (|| {
            operations.wrote(&temporary);
            write_content(&mut file)?;
            if let Some(mode) = self.mode {
                // After the owner: a change of owner takes away what this may give.
                file.set_permissions(Permissions::from_mode(mode))?;
            }
            if self.survives_power_cut {
                operations.sync(&file, &temporary)?;
            }
            operations.edge("a file is written and has no name");
            if self.replaces {
                operations.rename(&temporary, self.path)
            } else {
                operations.rename_new(&temporary, self.path)
            }
        })();
        if let Err(error) = written {
            let _ = remove(&temporary);
            return Err(error);
        }
        operations.edge("a file has its name");
        if self.survives_power_cut {
            operations.sync_folder(parent_folder(self.path))?;
        }
        Ok(())
    }

    fn create(&self) -> io::Result<(File, PathBuf)> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        if self.mode.is_some() {
            // Nobody else reads it before it has its owner.
            options.mode(0o600);
        }
        if let Some(temporary) = &self.temporary {
            remove(temporary)?;
            return Ok((options.open(temporary)?, temporary.clone()));
        }
        make_under_unique_name(self.path, |temporary| options.open(temporary))
    }
}

/// Beside `path`, under a name that nobody else uses.
pub(crate) fn make_under_unique_name<T>(
    path: &Path,
    make: impl Fn(&Path) -> io::Result<T>,
) -> io::Result<(T, PathBuf)> {
    for _ in 0..ATTEMPTS {
        let number = COUNTER.fetch_add(1, Ordering::Relaxed);
        let name = format!(".crosstie-{}-{number}.partial", process::id());
        let temporary = parent_folder(path).join(name);
        match make(&temporary) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            other => return Ok((other?, temporary)),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Writes over the bytes of a file, in the room that it has: for a disk that is full. Whoever is cut off meanwhile leaves it
/// torn, so its reader must know what that means.
pub fn overwrite(operations: &dyn FileOperations, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::options().write(true).open(path)?;
    operations.wrote(path);
    file.write_all(bytes)?;
    file.set_len(bytes.len() as u64)?;
    operations.sync(&file, path)
}
