//! Files of the person's that are written.

use std::{
    fs::{self, OpenOptions},
    io,
    os::unix::fs::MetadataExt,
    path::{Component, Path, PathBuf},
};

use crosstie_durable::{AtomicWrite, FileOperations, RealDisk, parent_folder};

#[derive(Debug, thiserror::Error)]
#[error("cannot write {}", path.display())]
pub struct FileWriteError {
    pub path: PathBuf,
    pub source: io::Error,
}

#[derive(Debug, thiserror::Error)]
#[error("cannot make {}", path.display())]
pub struct CreateFolderError {
    pub path: PathBuf,
    pub source: io::Error,
}

#[derive(Debug, thiserror::Error)]
#[error("'{0}' cannot be the name of a folder")]
pub struct InvalidFolderName(pub(crate) String);

pub(crate) fn make_folder(path: &Path) -> Result<(), CreateFolderError> {
    fs::create_dir_all(path).map_err(|source| CreateFolderError {
        path: path.to_owned(),
        source,
    })
}

/// A node's name as the name of one folder.
pub(crate) fn folder_name(name: &str) -> Result<&Path, InvalidFolderName> {
    let path = Path::new(name);
    let mut parts = path.components();
    match (parts.next(), parts.next()) {
        (Some(Component::Normal(part)), None) if part.to_str() == Some(name) => Ok(path),
        _ => Err(InvalidFolderName(name.to_owned())),
    }
}

/// Whether it could be written, told before anything else is done for it: nothing is left behind.
pub fn is_writable(path: &Path) -> Result<(), FileWriteError> {
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mut probe = target.into_os_string();
    probe.push(format!(".{}.partial", std::process::id()));
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&probe)
        .and_then(|_| fs::remove_file(&probe));
    written.map_err(|source| FileWriteError {
        path: path.to_owned(),
        source,
    })
}

/// The whole file at once, with the permissions that it had. Where the path is a link, the file behind it is replaced.
pub fn replace(path: &Path, text: &str) -> Result<(), FileWriteError> {
    replace_by(&PersonsDisk, path, text).map_err(|source| FileWriteError {
        path: path.to_owned(),
        source,
    })
}

fn replace_by(operations: &dyn FileOperations, path: &Path, text: &str) -> io::Result<()> {
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let write = match fs::metadata(&target) {
        // A device, a fifo or a socket would be gone, and something else in its place.
        Ok(found) if !found.is_file() => return Err(io::Error::other("it is no regular file")),
        Ok(found) => AtomicWrite::new(&target, found.mode() & 0o7777),
        Err(_) => AtomicWrite::with_mode_of_umask(&target),
    };
    // Nobody holds a lock on a person's folder.
    write
        .via_unique_temporary()
        .write(operations, text.as_bytes())
}

/// A file that was made a moment ago is there after a power cut, too.
pub(crate) fn sync_name(path: &Path) -> io::Result<()> {
    PersonsDisk.sync_folder(parent_folder(path))
}

/// A person's folders may lie on a file system that cannot sync folders, and may be closed to listing. What was written there has
/// its name all the same.
struct PersonsDisk;

impl FileOperations for PersonsDisk {
    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        match RealDisk.sync_folder(folder) {
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::InvalidInput
                        | io::ErrorKind::PermissionDenied
                        | io::ErrorKind::Unsupported
                ) =>
            {
                Ok(())
            }
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use crosstie_durable::testing::{CrashPoint, CrashTestDisk, at_every_cut};
    use tempfile::TempDir;

    use super::*;

    #[test]
    fn only_files_are_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("page.html");
        replace(&path, "first").unwrap();
        replace(&path, "second").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "second");
        for other in [Path::new("/dev/null"), folder.path()] {
            assert!(replace(other, "text").is_err(), "{}", other.display());
            assert!(!fs::metadata(other).unwrap().is_file());
        }
    }

    /// Whoever is cut off leaves the old file or the new one behind the link, with its permissions.
    #[test]
    fn a_file_is_replaced_whole() {
        let prepare = || {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("real.toml");
            fs::write(&path, "before").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
            symlink("real.toml", folder.path().join("cluster.toml")).unwrap();
            folder
        };
        let work = |disk: &CrashTestDisk, folder: &TempDir| {
            replace_by(disk, &folder.path().join("cluster.toml"), "after")
        };
        let check = |folder: &TempDir, place: &CrashPoint| {
            let path = folder.path().join("cluster.toml");
            assert!(path.is_symlink(), "{place}");
            let text = fs::read_to_string(&path).unwrap();
            assert!(text == "after" || text == "before", "{place}: {text}");
            assert!(text == "after" || !place.is_done, "{place}");
            let mode = fs::metadata(&path).unwrap().mode() & 0o7777;
            assert_eq!(mode, 0o640, "{place}");
        };
        at_every_cut(prepare, work, check).unwrap();
    }

    #[test]
    fn a_file_without_a_folder_is_written_here() {
        let name = format!("crosstie-files-test-{}", std::process::id());
        replace(Path::new(&name), "text").unwrap();
        let written = fs::read_to_string(&name);
        fs::remove_file(&name).unwrap();
        assert_eq!(written.unwrap(), "text");
    }
}
