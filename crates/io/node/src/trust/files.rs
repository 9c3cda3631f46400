//! Files that are replaced whole or not at all.

use std::{
    fs::{self, File},
    io::{self, Read},
    os::unix::fs::{MetadataExt, fchown},
    path::{Path, PathBuf},
};

use crosstie_durable::{
    AtomicWrite, FileOperations, RealDisk, parent_folder, private_folder_with, remove_tree,
};
use rustix::process::geteuid;

use super::HomeTrustError;

/// A file that somebody wrote by hand is far below.
const MAX_FILE: u64 = 4 << 20;

/// What a file or a folder is called until it is whole. One that a killed run left is written over, or removed by an undo.
const TEMPORARY: &str = ".crosstie-new";
/// Of a new file.
const PRIVATE: u32 = 0o600;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HomeFile {
    /// Where it really lies: links of a person who keeps their files elsewhere are followed, and stay.
    pub path: PathBuf,
    pub text: Vec<u8>,
    mode: u32,
    group: u32,
}

pub(super) fn mode(path: &Path) -> Result<Option<u32>, HomeTrustError> {
    match fs::metadata(path) {
        Ok(status) => Ok(Some(status.mode() & 0o7777)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(HomeTrustError::io("look at", path)(error)),
    }
}

pub(super) fn read(path: &Path) -> Result<Option<HomeFile>, HomeTrustError> {
    let odd = |what| HomeTrustError::Odd {
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
        Err(error) => return Err(HomeTrustError::io("find", path)(error)),
    };
    let status = fs::metadata(&real).map_err(HomeTrustError::io("look at", path))?;
    if !status.is_file() {
        return Err(odd("no plain file"));
    }
    if status.uid() != geteuid().as_raw() {
        let path = path.to_owned();
        return Err(HomeTrustError::Foreign { path });
    }
    if status.len() > MAX_FILE {
        return Err(odd("larger than any of its kind"));
    }
    let mut text = Vec::new();
    File::open(&real)
        .and_then(|file| file.take(MAX_FILE).read_to_end(&mut text))
        .map_err(HomeTrustError::io("read", path))?;
    Ok(Some(HomeFile {
        path: real,
        text,
        mode: status.mode() & 0o7777,
        group: status.gid(),
    }))
}

/// Writes a file that was not there, or the new text of one that was: its mode and group stay.
pub(super) fn write(
    path: &Path,
    found: Option<&HomeFile>,
    text: &[u8],
) -> Result<(), HomeTrustError> {
    write_by(&RealDisk, path, found, text)
}

pub(super) fn write_by(
    operations: &dyn FileOperations,
    path: &Path,
    found: Option<&HomeFile>,
    text: &[u8],
) -> Result<(), HomeTrustError> {
    let path = found.map_or(path, |found| &found.path);
    let mode = found.map_or(PRIVATE, |found| found.mode);
    AtomicWrite::new(path, mode)
        .through(temporary_in(parent_folder(path)))
        .write_as(operations, text, |file| match found {
            // Only where it must be: not every group is one that its owner may give away.
            Some(found) if file.metadata()?.gid() != found.group => {
                fchown(file, None, Some(found.group))
            }
            _ => Ok(()),
        })
        .map_err(HomeTrustError::io("write", path))
}

/// A folder for the user alone, with a file in it before it has its name.
pub(super) fn make_folder(path: &Path, file: (&str, &str)) -> Result<(), HomeTrustError> {
    let temporary = temporary_in(parent_folder(path));
    let (name, text) = file;
    private_folder_with(&RealDisk, path, &temporary, &[(name, text.as_bytes())])
        .map_err(HomeTrustError::io("make", path))
}

/// What a run that was killed has left in a folder: a file, or a folder of ours.
pub(super) fn remove_temporary(folder: &Path) -> io::Result<()> {
    remove_tree(&temporary_in(folder)).map(drop)
}

fn temporary_in(folder: &Path) -> PathBuf {
    folder.join(TEMPORARY)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use crosstie_durable::testing::{CrashPoint, CrashTestDisk, at_every_cut};
    use tempfile::TempDir;

    use super::*;

    /// A person's file that lies elsewhere: the old one or the new one, with its mode, and the link stays.
    #[test]
    fn a_persons_file_is_whole_wherever_its_writing_is_cut_off() {
        let prepare = || {
            let home = tempfile::tempdir().unwrap();
            let real = home.path().join("dotfiles");
            fs::write(&real, "before").unwrap();
            fs::set_permissions(&real, fs::Permissions::from_mode(0o644)).unwrap();
            symlink("dotfiles", home.path().join("config")).unwrap();
            home
        };
        let write_new = |operations: &dyn FileOperations, home: &TempDir| {
            let path = home.path().join("config");
            let found = read(&path).unwrap();
            write_by(operations, &path, found.as_ref(), b"after").unwrap();
        };
        let check = |home: &TempDir, place: &CrashPoint| {
            let path = home.path().join("config");
            assert!(path.is_symlink(), "{place}");
            let found = read(&path).unwrap().unwrap();
            let is_after = found.text == b"after";
            assert!(is_after || found.text == b"before", "{place}");
            assert!(is_after || !place.is_done, "{place}");
            assert_eq!(found.mode, 0o644, "{place}");
            write_new(&RealDisk, home);
            remove_temporary(home.path()).unwrap();
            assert_eq!(fs::read_dir(home.path()).unwrap().count(), 2, "{place}");
        };
        let work = |disk: &CrashTestDisk, home: &TempDir| {
            write_new(disk, home);
            Ok(())
        };
        at_every_cut(prepare, work, check).unwrap();
    }
}
