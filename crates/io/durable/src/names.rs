//! Names in folders: given, changed and removed, so that it is still so after a power cut.

use std::{
    fs::{self, File},
    io,
    path::Path,
};

use rustix::{
    fs::{CWD, RenameFlags, renameat_with, syncfs},
    io::Errno,
};

use crate::FileOperations;

/// The folder that a path is in.
pub fn parent_folder(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder.as_os_str().is_empty() => Path::new("."),
        Some(folder) => folder,
        None => Path::new("/"),
    }
}

/// The names in a folder are there after a power cut too.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// One flush of the whole file system, instead of one for each of a thousand small files.
pub(crate) fn sync_tree(folder: &Path) -> io::Result<()> {
    Ok(syncfs(File::open(folder)?)?)
}

/// `AlreadyExists` where there is something, be it an empty folder or a link that leads nowhere.
pub(crate) fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // NFS and 9p know no such flag: look first, at the price of a gap between the two.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => match fs::symlink_metadata(to) {
            Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => fs::rename(from, to),
            Err(error) => Err(error),
        },
        renamed => Ok(renamed?),
    }
}

/// Whether there was one. A power cut may bring it back.
pub fn remove(path: &Path) -> io::Result<bool> {
    was_there(fs::remove_file(path))
}

/// Whether there was one. It does not come back.
pub fn remove_synced(operations: &dyn FileOperations, path: &Path) -> io::Result<bool> {
    let removed = was_there(operations.remove_file(path))?;
    if removed {
        operations.sync_folder(parent_folder(path))?;
    }
    Ok(removed)
}

/// A file, a link, or a folder with everything in it. A power cut may bring parts of it back.
pub fn remove_tree(path: &Path) -> io::Result<bool> {
    match fs::symlink_metadata(path) {
        Ok(status) if status.is_dir() => was_there(fs::remove_dir_all(path)),
        Ok(_) => remove(path),
        Err(error) => was_there(Err(error)),
    }
}

fn was_there(removed: io::Result<()>) -> io::Result<bool> {
    match removed {
        Ok(()) => Ok(true),
        Err(error) if is_absent(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

/// What is renamed is on the disk already.
pub fn rename_synced(operations: &dyn FileOperations, from: &Path, to: &Path) -> io::Result<()> {
    operations.rename(from, to)?;
    operations.sync_folder(parent_folder(to))?;
    if parent_folder(from) != parent_folder(to) {
        operations.sync_folder(parent_folder(from))?;
    }
    Ok(())
}

/// Files that another program wrote under temporary names get their own, one after another: whichever has its name is whole,
/// and so are all those before it.
pub fn publish(operations: &dyn FileOperations, files: &[(&Path, &Path)]) -> io::Result<()> {
    for (temporary, _) in files {
        operations.sync(&File::open(temporary)?, temporary)?;
    }
    for (temporary, path) in files {
        rename_synced(operations, temporary, path)?;
    }
    Ok(())
}

/// There is no such file, or a file is where a folder should be.
pub fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

/// There is no room on the disk, or none for us.
pub fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
    )
}
