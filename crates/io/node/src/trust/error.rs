//! Why a home directory was not changed. Each text goes behind the node's name.

use std::{io, path::PathBuf};

use crosstie_model::distribution::DEBIAN;
use crosstie_trust::{MachineNameError, PublicKeyError, TrustJournalError};
use thiserror::Error;

#[derive(Debug, Error)]
pub enum HomeTrustError {
    #[error("cannot tell whose home directory this is: {why}")]
    Home { why: String },
    #[error("cannot use its login name")]
    User(#[source] MachineNameError),
    #[error("another crosstie trust works in {}; try again when it is done", path.display())]
    Busy { path: PathBuf },
    #[error("cannot {action} {}", path.display())]
    Io {
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error("{} belongs to somebody else, so it is left alone", path.display())]
    Foreign { path: PathBuf },
    #[error("{} is {what}, so it is left alone", path.display())]
    Odd { path: PathBuf, what: &'static str },
    #[error("cannot make a folder for ssh's files")]
    Scratch(#[source] io::Error),
    #[error("cannot use the journal {}", path.display())]
    Journal {
        path: PathBuf,
        source: TrustJournalError,
    },
    #[error("cannot make a key: {why}")]
    Keygen { why: String },
    #[error("cannot use the key {}", path.display())]
    Key {
        path: PathBuf,
        source: PublicKeyError,
    },
    #[error(
        "there is no host key of an sshd in /etc/ssh: nobody can log in here ({} package {})",
        DEBIAN.name,
        DEBIAN.packages.ssh_server
    )]
    NoHostKey,
}

impl HomeTrustError {
    pub(super) fn io(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io {
            action,
            path,
            source,
        }
    }
}
