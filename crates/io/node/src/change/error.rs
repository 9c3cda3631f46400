//! What stands in the way of a change, of its guard or of a rollback, each with its cause.

use std::{io, time::Duration};

use thiserror::Error;

/// A program of the system that did not do its work.
#[derive(Debug, Error)]
pub(super) enum ProgramError {
    #[error("{program} is not installed")]
    Missing { program: String },
    #[error("{command}: not permitted")]
    Denied { command: String },
    #[error("{command}: it printed too much")]
    TooLarge { command: String },
    #[error("{command}: {complaint}")]
    Failed { command: String, complaint: String },
}

impl From<ProgramError> for String {
    fn from(error: ProgramError) -> Self {
        error.to_string()
    }
}

/// Why the node would not roll back by itself.
#[derive(Debug, Error)]
pub(super) enum GuardError {
    #[error("the unit {path} cannot be written")]
    Unit {
        path: String,
        #[source]
        source: io::Error,
    },
    #[error("systemd does not take the guard")]
    Manager(#[from] ProgramError),
    #[error(
        "systemd runs no guard that acts at {} s after the boot: {found}",
        .wanted.as_secs_f64()
    )]
    NotCounting { wanted: Duration, found: String },
}

impl GuardError {
    /// The disk takes nothing: it is full, or nobody may write to it.
    pub(super) fn is_of_the_disk(&self) -> bool {
        matches!(self, Self::Unit { source, .. }
            if super::store::is_full(source) || source.kind() == io::ErrorKind::ReadOnlyFilesystem)
    }
}

/// Something that a rollback could not restore. It goes on with the rest.
#[derive(Debug, Error)]
pub(super) enum Obstacle {
    #[error("{path} is not restored")]
    File {
        path: String,
        #[source]
        source: io::Error,
    },
    #[error("the program that the boot unit starts is not restored")]
    BootProgram(#[source] io::Error),
    #[error("{what} is not undone: {why}")]
    Value { what: String, why: String },
    #[error("the network managers have not read their old files: {why}")]
    Reread { why: String },
    #[error("{why}")]
    Network { why: String },
    #[error("its end is not noted in {path}")]
    State {
        path: String,
        #[source]
        source: io::Error,
    },
}

impl Obstacle {
    /// Worth another try a moment later: a file system that is full, or read-only until it is mounted anew.
    pub(super) fn may_pass(&self) -> bool {
        matches!(
            self,
            Self::File { .. } | Self::BootProgram(_) | Self::State { .. }
        )
    }
}

pub(super) use crate::with_causes as told;
