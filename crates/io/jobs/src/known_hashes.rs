//! Hashes of whole files, kept until the machine's next start: reading a model of 100 GB takes minutes.
//!
//! A file is known by its device, inode, size and both of its times; one that was just written is hashed again the next time,
//! since clocks of file systems may tick slower than it is written.

use std::{
    fs::{self, DirBuilder, File, Metadata},
    io::{self, Read},
    os::unix::fs::{DirBuilderExt, MetadataExt},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use crosstie_durable::{AtomicWrite, RealDisk};
use rustix::process::geteuid;

/// Removed by `uninstall`, with what else is there.
const ROOT_FOLDER: &str = "/run/crosstie/files";
const MAX_HASH: u64 = 100;
/// Written more recently than this, it may be written again without another time.
const FILE_SETTLED_TIMEOUT: Duration = Duration::from_secs(if cfg!(test) { 2 } else { 5 });

/// A folder that only this user can write to.
pub(crate) struct KnownHashes(PathBuf);

impl KnownHashes {
    pub(crate) fn of_user() -> Self {
        let user = geteuid();
        Self(if user.is_root() {
            PathBuf::from(ROOT_FOLDER)
        } else {
            PathBuf::from(format!("/run/user/{}/crosstie-files", user.as_raw()))
        })
    }

    #[cfg(test)]
    pub(crate) fn at(folder: PathBuf) -> Self {
        Self(folder)
    }

    /// The hash that is kept, or that `hash` makes of the file, which is then kept. A cache that does not work is none.
    pub(crate) fn of(
        &self,
        file: &mut File,
        hash: impl FnOnce(&mut File) -> io::Result<String>,
    ) -> io::Result<String> {
        let before = file.metadata()?;
        let path = self.0.join(name(&before));
        if let Some(known) = self.is_own().then(|| read(&path)).flatten() {
            return Ok(known);
        }
        let made = hash(file)?;
        let after = file.metadata()?;
        if name(&before) == name(&after) && is_settled(&after) {
            // It costs time alone where it cannot be kept.
            let _ = self.keep(&path, &made);
        }
        Ok(made)
    }

    fn is_own(&self) -> bool {
        fs::symlink_metadata(&self.0).is_ok_and(|folder| {
            folder.is_dir() && folder.uid() == geteuid().as_raw() && folder.mode() & 0o022 == 0
        })
    }

    fn keep(&self, path: &Path, hash: &str) -> io::Result<()> {
        DirBuilder::new()
            .mode(0o700)
            .recursive(true)
            .create(&self.0)?;
        if !self.is_own() {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        // It is gone with the next boot in any case. Several agents may hash one file at once.
        AtomicWrite::new(path, 0o600)
            .via_unique_temporary()
            .without_sync()
            .write(&RealDisk, hash.as_bytes())
    }
}

fn read(path: &Path) -> Option<String> {
    let mut hash = String::new();
    let file = File::open(path).ok()?;
    file.take(MAX_HASH).read_to_string(&mut hash).ok()?;
    (!hash.is_empty()).then_some(hash)
}

fn name(file: &Metadata) -> String {
    format!(
        "{:x}-{:x}-{:x}-{:x}.{:x}-{:x}.{:x}",
        file.dev(),
        file.ino(),
        file.size(),
        file.mtime(),
        file.mtime_nsec(),
        file.ctime(),
        file.ctime_nsec()
    )
}

fn is_settled(file: &Metadata) -> bool {
    let changed = u64::try_from(file.ctime()).ok();
    let changed = changed.map(|seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
    let age = changed.and_then(|changed| SystemTime::now().duration_since(changed).ok());
    age.is_some_and(|age| age >= FILE_SETTLED_TIMEOUT)
}

#[cfg(test)]
mod tests {
    use std::{cell::Cell, thread};

    use super::*;

    #[test]
    fn a_file_is_hashed_once_until_it_changes() {
        let folder = tempfile::tempdir().unwrap();
        let known = KnownHashes::at(folder.path().join("known"));
        let path = folder.path().join("model");
        fs::write(&path, "weights").unwrap();
        let times = Cell::new(0);
        let hash = || {
            let mut file = File::open(&path).unwrap();
            let made = |_: &mut File| {
                times.set(times.get() + 1);
                Ok(format!("sha256 {}", times.get()))
            };
            known.of(&mut file, made).unwrap()
        };
        // It was just written: nothing is kept yet.
        hash();
        assert_eq!(hash(), "sha256 2");
        thread::sleep(FILE_SETTLED_TIMEOUT + Duration::from_secs(1));
        assert_eq!(hash(), "sha256 3");
        assert_eq!(hash(), "sha256 3");
        fs::write(&path, "weights, others").unwrap();
        assert_eq!(hash(), "sha256 4");
    }
}
