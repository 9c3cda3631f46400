//! Whose home directory it is, and that nobody else works in it.

use std::{
    fs::{self, File, OpenOptions},
    io::{Read, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use crosstie_trust::{PublicKey, UserName};
use rustix::{
    fs::{Access, OFlags},
    process::geteuid,
};

use super::HomeTrustError;
use crate::{
    command::{CommandLimits, run},
    lock,
};

/// Others hold it for a moment.
const LOCK_TIMEOUT: Duration = Duration::from_secs(if cfg!(test) { 1 } else { 10 });
const LOCK_POLL_INTERVAL: Duration = Duration::from_millis(200);

/// In the home directory, or in `.ssh` where the user may not write there. A folder cannot be locked on every file system
/// that nodes share (NFS); a file can.
const LOCK_FILE: &str = ".crosstie-trust.lock";

/// Beside it: held for as long as one `crosstie trust` is at work, with that one's name in it.
const RUN_FILE: &str = ".crosstie-trust.run";
const MAX_RUN: u64 = 256;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HomeFolder {
    pub path: PathBuf,
    pub user: UserName,
}

/// One reads and writes in a home directory at a time. Released when dropped, and its file is gone then.
#[derive(Debug)]
pub struct HomeLock {
    path: PathBuf,
    file: File,
}

impl Drop for HomeLock {
    fn drop(&mut self) {
        // While it is held: whoever waits for it sees that it is gone, and makes another.
        let _ = fs::remove_file(&self.path);
    }
}

impl HomeFolder {
    /// As ssh and sshd find it, which is not by `$HOME`.
    pub fn find() -> Result<Self, HomeTrustError> {
        let (user, path) = entry(geteuid().as_raw())?;
        Ok(Self {
            user: user.parse().map_err(HomeTrustError::User)?,
            path,
        })
    }

    /// The name and the home directory of the user with this number.
    pub fn account(number: u32) -> Result<(String, PathBuf), HomeTrustError> {
        entry(number)
    }

    /// That of the user with this number.
    pub(crate) fn path_of(number: u32) -> Result<PathBuf, HomeTrustError> {
        entry(number).map(|(_, path)| path)
    }

    pub(super) fn ssh(&self) -> PathBuf {
        self.path.join(".ssh")
    }

    pub fn ours(&self) -> PathBuf {
        self.path.join(".ssh/crosstie")
    }

    /// The private key, wherever it is spoken of.
    pub fn identity(&self) -> PathBuf {
        self.ours().join("id_ed25519")
    }

    /// How a person writes it.
    pub(super) fn shown(&self, path: &Path) -> String {
        match path.strip_prefix(&self.path) {
            Ok(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
            Ok(rest) => format!("~/{}", rest.display()),
            Err(_) => path.display().to_string(),
        }
    }

    fn lock_file(&self, name: &str) -> PathBuf {
        let writable = rustix::fs::access(&self.path, Access::WRITE_OK).is_ok();
        let folder = if writable {
            self.path.clone()
        } else {
            self.ssh()
        };
        folder.join(name)
    }

    /// One `crosstie trust` is at work here from its first change to its last, and another waits or is told. Nothing where
    /// this run has it already, through another session or from another machine that shares the folder.
    pub fn lease(&self, run: &str) -> Result<Option<HomeLock>, HomeTrustError> {
        let path = self.lock_file(RUN_FILE);
        let is_ours = || {
            let mut text = String::new();
            let read =
                File::open(&path).and_then(|file| file.take(MAX_RUN).read_to_string(&mut text));
            read.is_ok() && text == run
        };
        let Some(mut lock) = self.take_lock(&path, is_ours)? else {
            return Ok(None);
        };
        let written = lock
            .file
            .set_len(0)
            .and_then(|()| lock.file.write_all(run.as_bytes()));
        written.map_err(HomeTrustError::io("write", &path))?;
        Ok(Some(lock))
    }

    pub(super) fn lock(&self) -> Result<HomeLock, HomeTrustError> {
        let path = self.lock_file(LOCK_FILE);
        let taken = self.take_lock(&path, || false)?;
        let path = self.path.clone();
        taken.ok_or(HomeTrustError::Busy { path })
    }

    /// Nothing where `is_ours` says that it need not be taken.
    fn take_lock(
        &self,
        path: &Path,
        is_ours: impl Fn() -> bool,
    ) -> Result<Option<HomeLock>, HomeTrustError> {
        let path = path.to_owned();
        let until = Instant::now() + LOCK_TIMEOUT;
        loop {
            let file = OpenOptions::new()
                .write(true)
                .create(true)
                .truncate(false)
                .mode(0o600)
                .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
                .open(&path)
                .map_err(HomeTrustError::io("lock", &path))?;
            let given = lock::wait_for_lock(&file, LOCK_POLL_INTERVAL)
                .map_err(HomeTrustError::io("lock", &path))?;
            if given && lock::is_at(&file, &path).map_err(HomeTrustError::io("lock", &path))? {
                return Ok(Some(HomeLock { path, file }));
            }
            if !given && is_ours() {
                return Ok(None);
            }
            // A file that was taken away is followed by another one.
            if Instant::now() >= until {
                return Err(HomeTrustError::Busy {
                    path: self.path.clone(),
                });
            }
        }
    }
}

/// The name and the home directory of a user.
fn entry(number: u32) -> Result<(String, PathBuf), HomeTrustError> {
    let number = number.to_string();
    let line = run("getent", &["passwd", &number], CommandLimits::default());
    let line = line.map_err(|gap| HomeTrustError::Home {
        why: format!("getent passwd {number}: {gap:?}"),
    })?;
    let line = String::from_utf8_lossy(&line);
    let mut fields = line.lines().next().unwrap_or_default().split(':');
    let (user, path) = (fields.next(), fields.nth(4));
    match (user, path.map(PathBuf::from)) {
        (Some(user), Some(path)) if path.is_absolute() && path.is_dir() => {
            Ok((user.to_owned(), path))
        }
        _ => Err(HomeTrustError::Home {
            why: format!("user {number} has none"),
        }),
    }
}

/// What this machine's own sshd shows to those who come, best first.
pub fn host_key_here() -> Result<PublicKey, HomeTrustError> {
    let keys = ["ed25519", "ecdsa", "rsa"].into_iter().filter_map(|kind| {
        let path = format!("/etc/ssh/ssh_host_{kind}_key.pub");
        std::fs::read_to_string(path).ok()?.parse().ok()
    });
    keys.into_iter().next().ok_or(HomeTrustError::NoHostKey)
}

/// Where the sshd listens that let us in (sshd(8), `SSH_CONNECTION`).
pub(super) fn ssh_port() -> Option<u16> {
    let connection = std::env::var("SSH_CONNECTION").ok()?;
    connection.split(' ').nth(3)?.parse().ok()
}
