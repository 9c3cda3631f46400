//! Whose home directory it is, and that nobody else works in it.

use std::{
    fs::File,
    path::{Path, PathBuf},
    time::Duration,
};

use crosstie_trust::{PublicKey, UserName};
use rustix::process::geteuid;

use super::TrustError;
use crate::{
    command::{Bounds, run},
    lock,
};

/// Others hold it for a moment.
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home {
    pub path: PathBuf,
    pub user: UserName,
}

/// Released when dropped.
pub(super) struct Lock(
    #[expect(dead_code, reason = "the lock lasts as long as it is open")] Option<File>,
);

impl Home {
    /// As ssh and sshd find it, which is not by `$HOME`.
    pub fn find() -> Result<Self, TrustError> {
        let number = geteuid().as_raw().to_string();
        let line = run("getent", &["passwd", &number], Bounds::default());
        let line = line.map_err(|gap| TrustError::Home {
            why: format!("getent passwd {number}: {gap:?}"),
        })?;
        let line = String::from_utf8_lossy(&line);
        let mut fields = line.lines().next().unwrap_or_default().split(':');
        let (user, path) = (fields.next(), fields.nth(4));
        match (user, path.map(PathBuf::from)) {
            (Some(user), Some(path)) if path.is_absolute() && path.is_dir() => Ok(Self {
                user: user.parse().map_err(TrustError::User)?,
                path,
            }),
            _ => Err(TrustError::Home {
                why: format!("user {number} has none"),
            }),
        }
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

    pub(super) fn lock(&self) -> Result<Lock, TrustError> {
        let folder = File::open(&self.path).map_err(TrustError::io("open", &self.path))?;
        match lock::is_given(&folder, PATIENCE) {
            Ok(true) => Ok(Lock(Some(folder))),
            Ok(false) => Err(TrustError::Busy {
                path: self.path.clone(),
            }),
            // Some network file systems lock no folders.
            Err(_) => Ok(Lock(None)),
        }
    }
}

/// What this machine's own sshd shows to those who come, best first.
pub fn host_key_here() -> Result<PublicKey, TrustError> {
    let keys = ["ed25519", "ecdsa", "rsa"].into_iter().filter_map(|kind| {
        let path = format!("/etc/ssh/ssh_host_{kind}_key.pub");
        std::fs::read_to_string(path).ok()?.parse().ok()
    });
    keys.into_iter().next().ok_or(TrustError::NoHostKey)
}

/// Where the sshd listens that let us in (sshd(8), `SSH_CONNECTION`).
pub(super) fn ssh_port() -> Option<u16> {
    let connection = std::env::var("SSH_CONNECTION").ok()?;
    connection.split(' ').nth(3)?.parse().ok()
}
