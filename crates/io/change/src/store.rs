//! Files that are there whole or not at all, also after a power cut; and the edges between those moments.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, Permissions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
};

use super::system::System;

/// How a half-made file is called, whatever it is to become. One that a killed run left is written over or swept away.
const HALF_MADE: &str = ".crosstie-half-made";

/// Writes a file of ours. `Ok` means that it survives a power cut.
pub(super) fn write(system: &dyn System, path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    write_as(system, path, bytes, mode, |_| Ok(()))
}

/// `dress` gives the file its owner and what else it needs before it has its name.
pub(super) fn write_as(
    system: &dyn System,
    path: &Path,
    bytes: &[u8],
    mode: u32,
    dress: impl FnOnce(&File) -> io::Result<()>,
) -> io::Result<()> {
    let folder = folder(path);
    let half_made = half_made(path);
    let written = (|| {
        remove(&half_made)?;
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&half_made)?;
        let (first, rest) = bytes.split_at(bytes.len() / 2);
        system.wrote(&half_made);
        file.write_all(first)?;
        system.edge("half of a file is written");
        file.write_all(rest)?;
        dress(&file)?;
        // After the owner: a change of owner takes away what this may give.
        file.set_permissions(Permissions::from_mode(mode))?;
        system.sync(&file, &half_made)?;
        system.edge("a file is written and has no name");
        system.rename(&half_made, path)
    })();
    if let Err(error) = written {
        let _ = remove(&half_made);
        return Err(error);
    }
    system.edge("a file has its name");
    system.sync_folder(folder)
}

/// Every file of a folder is replaced through the same name, so that the next run finds what a killed one left.
pub(super) fn half_made(path: &Path) -> PathBuf {
    folder(path).join(HALF_MADE)
}

pub(super) fn folder(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new("/"))
}

/// There is no room on the disk, or none for us.
pub(super) fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
    )
}

/// Those above it too, open to all, as folders of the system are.
pub(super) fn make_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o755).create(path)?;
    sync(folder(path))
}

/// What is in a folder is there after a power cut too.
pub(super) fn sync(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Whether there was one.
pub(super) fn remove(path: &Path) -> io::Result<bool> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if is_absent(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

pub(super) fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

/// A folder for root alone, and those above it.
pub(super) fn private_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o755)
        .create(folder(path))?;
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    fs::set_permissions(path, Permissions::from_mode(0o700))
}
