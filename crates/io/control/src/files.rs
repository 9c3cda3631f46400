//! Files of the person's that are written.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    path::{Component, Path, PathBuf},
};

#[derive(Debug, thiserror::Error)]
#[error("cannot write {}", path.display())]
pub struct WriteError {
    pub path: PathBuf,
    pub source: io::Error,
}

#[derive(Debug, thiserror::Error)]
#[error("cannot make {}", path.display())]
pub struct FolderError {
    pub path: PathBuf,
    pub source: io::Error,
}

#[derive(Debug, thiserror::Error)]
#[error("'{0}' cannot be the name of a folder")]
pub struct FolderName(pub(crate) String);

pub(crate) fn make_folder(path: &Path) -> Result<(), FolderError> {
    fs::create_dir_all(path).map_err(|source| FolderError {
        path: path.to_owned(),
        source,
    })
}

/// A node's name as the name of one folder.
pub(crate) fn folder_name(name: &str) -> Result<&Path, FolderName> {
    let path = Path::new(name);
    let mut parts = path.components();
    match (parts.next(), parts.next()) {
        (Some(Component::Normal(part)), None) if part.to_str() == Some(name) => Ok(path),
        _ => Err(FolderName(name.to_owned())),
    }
}

/// Whether it could be written, told before anything else is done for it: nothing is left behind.
pub fn is_writable(path: &Path) -> Result<(), WriteError> {
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mut probe = target.into_os_string();
    probe.push(format!(".{}.partial", std::process::id()));
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&probe)
        .and_then(|_| fs::remove_file(&probe));
    written.map_err(|source| WriteError {
        path: path.to_owned(),
        source,
    })
}

/// The whole file at once, with the permissions that it had. Where the path is a link, the file behind it is replaced.
pub fn replace(path: &Path, text: &str) -> Result<(), WriteError> {
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mut partial = target.clone().into_os_string();
    partial.push(format!(".{}.partial", std::process::id()));
    let partial = Path::new(&partial);
    let replace = || -> io::Result<()> {
        // A device, a fifo or a socket would be gone, and something else in its place.
        if fs::metadata(&target).is_ok_and(|found| !found.is_file()) {
            return Err(io::Error::other("it is no regular file"));
        }
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(partial)?;
        if let Ok(before) = fs::metadata(&target) {
            file.set_permissions(before.permissions())?;
        }
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(partial, &target)
    };
    replace().map_err(|source| {
        let _ = fs::remove_file(partial);
        let path = path.to_owned();
        WriteError { path, source }
    })
}

#[cfg(test)]
mod tests {
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
}
