//! Names for what is there already: links of both kinds, and copies where a link cannot be.

use std::{
    fs::{self, File},
    io,
    os::unix,
    path::Path,
};

use crate::{FileOperations, parent_folder, remove, temporary_name};

/// `existing` gets the name `path`, too. It takes no room, so it works on a full disk. `prepare` gives it what it needs before.
pub fn hard_link(
    operations: &dyn FileOperations,
    existing: &Path,
    path: &Path,
    prepare: impl FnOnce(&File) -> io::Result<()>,
) -> io::Result<()> {
    through_temporary_name(operations, path, |temporary| {
        fs::hard_link(existing, temporary)?;
        let file = File::open(temporary)?;
        prepare(&file)?;
        operations.sync(&file, temporary)
    })
}

/// A copy has the mode of the original.
pub fn hard_link_or_copy(
    operations: &dyn FileOperations,
    existing: &Path,
    path: &Path,
) -> io::Result<()> {
    through_temporary_name(operations, path, |temporary| {
        if fs::hard_link(existing, temporary).is_err() {
            operations.wrote(temporary);
            fs::copy(existing, temporary)?;
        }
        operations.sync(&File::open(temporary)?, temporary)
    })
}

/// `prepare` gives the link its owner and its time.
pub fn symlink(
    operations: &dyn FileOperations,
    target: &Path,
    path: &Path,
    prepare: impl FnOnce(&Path) -> io::Result<()>,
) -> io::Result<()> {
    through_temporary_name(operations, path, |temporary| {
        unix::fs::symlink(target, temporary)?;
        prepare(temporary)
    })
}

fn through_temporary_name(
    operations: &dyn FileOperations,
    path: &Path,
    make: impl FnOnce(&Path) -> io::Result<()>,
) -> io::Result<()> {
    let temporary = temporary_name(path);
    remove(&temporary)?;
    let named = make(&temporary).and_then(|()| operations.rename(&temporary, path));
    if let Err(error) = named {
        let _ = remove(&temporary);
        return Err(error);
    }
    // Where both were links to one file, a rename does nothing.
    remove(&temporary)?;
    operations.sync_folder(parent_folder(path))
}
