//! Files that are replaced whole or not at all.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown},
    path::{Path, PathBuf},
};

use rustix::process::geteuid;

use super::TrustError;

/// A file that somebody wrote by hand is far below.
const MAX_FILE: u64 = 4 << 20;

/// The half-made file of each folder. One that a killed run left is written over, or removed by an undo.
pub(super) const HALF_MADE: &str = ".crosstie-new";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    /// Where it really lies: links of a person who keeps their files elsewhere are followed, and stay.
    pub path: PathBuf,
    pub text: Vec<u8>,
    mode: u32,
    group: u32,
}

pub(super) fn mode(path: &Path) -> Result<Option<u32>, TrustError> {
    match fs::metadata(path) {
        Ok(status) => Ok(Some(status.mode() & 0o7777)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(TrustError::io("look at", path)(error)),
    }
}

pub(super) fn read(path: &Path) -> Result<Option<Found>, TrustError> {
    let odd = |what| TrustError::Odd {
        path: path.to_owned(),
        what,
    };
    let real = match fs::canonicalize(path) {
        Ok(real) => real,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return match fs::symlink_metadata(path) {
                Ok(_) => Err(odd("a link that leads nowhere")),
                Err(_) => Ok(None),
            };
        }
        Err(error) => return Err(TrustError::io("find", path)(error)),
    };
    let status = fs::metadata(&real).map_err(TrustError::io("look at", path))?;
    if !status.is_file() {
        return Err(odd("no plain file"));
    }
    if status.uid() != geteuid().as_raw() {
        let path = path.to_owned();
        return Err(TrustError::Foreign { path });
    }
    if status.len() > MAX_FILE {
        return Err(odd("larger than any of its kind"));
    }
    let mut text = Vec::new();
    File::open(&real)
        .and_then(|file| file.take(MAX_FILE).read_to_end(&mut text))
        .map_err(TrustError::io("read", path))?;
    Ok(Some(Found {
        path: real,
        text,
        mode: status.mode() & 0o7777,
        group: status.gid(),
    }))
}

/// Writes a file that was not there, or the new text of one that was: its mode and group stay.
pub(super) fn write(path: &Path, found: Option<&Found>, text: &[u8]) -> Result<(), TrustError> {
    let path = found.map_or(path, |found| &found.path);
    let folder = path.parent().unwrap_or(Path::new("/"));
    let half_made = folder.join(HALF_MADE);
    let written = || {
        remove_if_there(&half_made)?;
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&half_made)?;
        file.write_all(text)?;
        if let Some(found) = found {
            if file.metadata()?.gid() != found.group {
                fchown(&file, None, Some(found.group))?;
            }
            file.set_permissions(fs::Permissions::from_mode(found.mode))?;
        }
        file.sync_all()?;
        fs::rename(&half_made, path)?;
        sync(folder)
    };
    written().map_err(|error| {
        let _ = remove_if_there(&half_made);
        TrustError::io("write", path)(error)
    })
}

/// What is in a folder is there after a power cut too.
pub(super) fn sync(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

pub(super) fn remove_if_there(path: &Path) -> io::Result<bool> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// A folder for the user alone, with everything in it before it has its name.
pub(super) fn make_folder(path: &Path, inside: &[(&str, &str)]) -> Result<(), TrustError> {
    let parent = path.parent().unwrap_or(Path::new("/"));
    let half_made = parent.join(HALF_MADE);
    let made = || {
        remove_half_made(parent)?;
        private_folder(&half_made)?;
        for (name, text) in inside {
            let file = half_made.join(name);
            if let Some(folder) = file.parent().filter(|folder| *folder != half_made) {
                private_folder(folder)?;
            }
            let mut file = OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(&file)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
        }
        sync(&half_made)?;
        fs::rename(&half_made, path)?;
        sync(parent)
    };
    made().map_err(TrustError::io("make", path))
}

fn private_folder(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().mode(0o700).create(path)
}

/// What a run that was killed has left in a folder: a file, or a folder of ours.
pub(super) fn remove_half_made(folder: &Path) -> io::Result<()> {
    let path = folder.join(HALF_MADE);
    match fs::symlink_metadata(&path) {
        Ok(status) if status.is_dir() => fs::remove_dir_all(&path),
        Ok(_) => fs::remove_file(&path),
        Err(_) => Ok(()),
    }
}
