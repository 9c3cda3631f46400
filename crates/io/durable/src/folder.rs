//! Folders that are there after a power cut too.

use std::{
    fs::{self, File, Permissions},
    io::{self, Write},
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::Path,
};

use crate::{
    FileOperations, create::make_under_unique_name, parent_folder, remove_tree, rename_synced,
};

/// Those above it have the same mode, where there are none yet.
pub fn make_folder(operations: &dyn FileOperations, path: &Path, mode: u32) -> io::Result<()> {
    make_folders_above(operations, path, mode)?;
    make_one(operations, path, mode)
}

/// For its owner alone. Those above it are open to all, as folders of the system are.
pub fn private_folder(operations: &dyn FileOperations, path: &Path) -> io::Result<()> {
    make_folders_above(operations, path, 0o755)?;
    make_one(operations, path, 0o700)?;
    fs::set_permissions(path, Permissions::from_mode(0o700))
}

fn make_folders_above(operations: &dyn FileOperations, path: &Path, mode: u32) -> io::Result<()> {
    let above = parent_folder(path);
    if above == path {
        return Ok(());
    }
    if !above.is_dir() {
        return make_folder(operations, above, mode);
    }
    match operations.sync_folder(parent_folder(above)) {
        // Whoever may not look into a folder has made none there.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        // Also where it was there: a killed run may have made it a moment ago.
        other => other,
    }
}

fn make_one(operations: &dyn FileOperations, path: &Path, mode: u32) -> io::Result<()> {
    match operations.create_folder(path, mode) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => {}
        other => other?,
    }
    // Also where it was there, for the same reason.
    operations.sync_folder(parent_folder(path))
}

/// A folder for its owner alone, with files in it, some of them in folders of their own: all of it is there at once. Until then
/// it is called `temporary`; what is there is removed.
pub fn private_folder_with(
    operations: &dyn FileOperations,
    path: &Path,
    temporary: &Path,
    files: &[(&str, &[u8])],
) -> io::Result<()> {
    remove_tree(temporary)?;
    let made = (|| {
        operations.create_folder(temporary, 0o700)?;
        for (name, bytes) in files {
            fill(operations, temporary, &temporary.join(name), bytes)?;
        }
        operations.sync_folder(temporary)?;
        operations.rename(temporary, path)
    })();
    if let Err(error) = made {
        let _ = remove_tree(temporary);
        return Err(error);
    }
    operations.sync_folder(parent_folder(path))
}

/// A folder for its owner alone, where nothing is yet (else `AlreadyExists`), with all that `write_content` puts into the one that it is
/// given. What a killed one leaves stays.
pub fn new_private_folder(
    operations: &dyn FileOperations,
    path: &Path,
    write_content: impl FnOnce(&Path) -> io::Result<()>,
) -> io::Result<()> {
    let create = |temporary: &Path| operations.create_folder(temporary, 0o700);
    let ((), temporary) = make_under_unique_name(path, create)?;
    let made = write_content(&temporary)
        .and_then(|()| operations.sync_tree(&temporary))
        .and_then(|()| operations.rename_new(&temporary, path));
    if let Err(error) = made {
        let _ = remove_tree(&temporary);
        return Err(error);
    }
    operations.sync_folder(parent_folder(path))
}

/// A folder that another program has filled under a temporary name gets its own.
pub fn publish_folder(
    operations: &dyn FileOperations,
    temporary: &Path,
    path: &Path,
) -> io::Result<()> {
    operations.sync_tree(temporary)?;
    rename_synced(operations, temporary, path)
}

fn fill(operations: &dyn FileOperations, top: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folders = path.ancestors().skip(1);
    let mut folders: Vec<&Path> = folders.take_while(|folder| *folder != top).collect();
    folders.reverse();
    for folder in &folders {
        match operations.create_folder(folder, 0o700) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            other => other?,
        }
    }
    let mut options = File::options();
    let mut file = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    operations.wrote(path);
    file.write_all(bytes)?;
    operations.sync(&file, path)?;
    // Of each the names in it; those in the topmost are synced once, at the end.
    folders
        .iter()
        .rev()
        .try_for_each(|folder| operations.sync_folder(folder))
}
