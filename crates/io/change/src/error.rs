//! What stands in the way of a change, of its guard or of a rollback, each with its cause.

use std::{io, path::Path, time::Duration};

use crosstie_durable::PathError;
use crosstie_model::change::ChangeError;
use crosstie_node::{command::RunToEndError, netlink::NetlinkError, network_state};
use rustix::io::Errno;
use thiserror::Error;

/// A program of the system that did not do its work.
#[derive(Debug, Error)]
pub enum ExternalProgramError {
    #[error("{program} is not installed")]
    Missing { program: String },
    #[error("{command}: it printed too much")]
    TooLarge { command: String },
    #[error("{command}: {complaint}")]
    Failed { command: String, complaint: String },
}

/// Why a step was not done on the running node.
#[derive(Debug, Error)]
pub enum StepError {
    #[error("'{name}' is no sysctl")]
    NotSysctl { name: String },
    #[error("'{name}' is no name of {what}")]
    Name { what: &'static str, name: String },
    #[error("{what} of {of} cannot be '{value}'")]
    Value {
        what: &'static str,
        of: String,
        value: String,
    },
    #[error("there is no {path}: the driver is not loaded, or cannot do this")]
    NoFile { path: String },
    #[error("there is no {path}: the module rdma_cm is not loaded; modprobe rdma_cm")]
    NoConnectionManager { path: String },
    #[error("there is no interface {interface}")]
    NoInterface { interface: String },
    #[error("'{value}' cannot be written to {path}")]
    Write {
        path: String,
        value: String,
        #[source]
        source: io::Error,
    },
    #[error("{path} cannot be made for RDMA-CM's settings")]
    Folder {
        path: String,
        #[source]
        source: io::Error,
    },
    #[error("configfs cannot be mounted on {path}")]
    Mount {
        path: String,
        #[source]
        source: io::Error,
    },
    #[error("{what} of {interface} cannot be set")]
    Kernel {
        what: &'static str,
        interface: String,
        #[source]
        source: NetlinkError,
    },
    #[error(transparent)]
    Packages(#[from] RunToEndError),
    #[error(transparent)]
    Program(#[from] ExternalProgramError),
}

impl StepError {
    /// Whether it may work later, when the driver has made the port, or is less busy.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::NoFile { .. } | Self::NoConnectionManager { .. } | Self::NoInterface { .. } => {
                true
            }
            Self::Write { source, .. } | Self::Folder { source, .. } => {
                matches!(
                    Errno::from_io_error(source),
                    Some(Errno::NOENT | Errno::NODEV)
                )
            }
            Self::Kernel { source, .. } => matches!(
                source,
                NetlinkError::Refused(Errno::NODEV) | NetlinkError::Silent(_)
            ),
            Self::NotSysctl { .. }
            | Self::Name { .. }
            | Self::Value { .. }
            | Self::Mount { .. }
            | Self::Packages(_)
            | Self::Program(_) => false,
        }
    }
}

/// Why a file is not what a plan makes of it.
#[derive(Debug, Error)]
pub(super) enum PlannedFileError {
    #[error("{path}: a plan writes below /etc alone")]
    Outside { path: String },
    #[error("{path} is not as it was")]
    Changed { path: String },
    #[error("{path} is not text")]
    NotText { path: String },
    #[error("it is a link to {target}; put a plain file in its place, then apply again")]
    Link { path: String, target: String },
    #[error("Crosstie did not write it; move it away, then apply again")]
    Foreign { path: String },
    #[error("{path} is not there")]
    Missing { path: String },
    #[error("{path} is in the way")]
    InTheWay { path: String },
    #[error(transparent)]
    System(#[from] PathError),
}

impl PlannedFileError {
    /// Before anything is changed. Of what is in the way, another plan would know some.
    pub(super) fn refusal(self) -> ChangeError {
        match &self {
            Self::Link { path, .. } | Self::Foreign { path } => ChangeError::NotBegun {
                what: path.clone(),
                why: told(&self),
            },
            Self::System(PathError { path, source }) => ChangeError::NotBegun {
                what: format!("{} cannot be read", path.display()),
                why: told(source),
            },
            Self::Outside { .. }
            | Self::Changed { .. }
            | Self::NotText { .. }
            | Self::Missing { .. }
            | Self::InTheWay { .. } => ChangeError::Stale { what: told(&self) },
        }
    }

    pub(super) fn at(path: impl AsRef<Path>) -> impl Fn(io::Error) -> Self {
        let at_path = PathError::at(path.as_ref());
        move |source| at_path(source).into()
    }
}

/// Why those who read network configuration have not read it again.
#[derive(Debug, Error)]
pub(super) enum ManagerError {
    #[error(transparent)]
    Program(#[from] ExternalProgramError),
    #[error("{path}, which {generator} made, cannot be removed")]
    Generated {
        generator: &'static str,
        path: String,
        #[source]
        source: io::Error,
    },
}

/// Why a journal cannot be written or read.
#[derive(Debug, Error)]
pub enum ChangeJournalError {
    #[error(transparent)]
    System(#[from] PathError),
    #[error("{folder} is of another build, of which {program} is the program: {why}")]
    OtherBuild {
        folder: String,
        why: String,
        program: String,
    },
}

impl ChangeJournalError {
    pub(super) fn at(path: &Path) -> impl Fn(io::Error) -> Self + use<> {
        let at_path = PathError::at(path);
        move |source| at_path(source).into()
    }

    /// It will be no better the next time.
    pub(super) fn is_damage(&self) -> bool {
        let Self::System(PathError { source, .. }) = self else {
            return false;
        };
        let is_unreadable = matches!(
            source.kind(),
            io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof | io::ErrorKind::NotFound
        );
        is_unreadable || Errno::from_io_error(source) == Some(Errno::IO)
    }
}

/// Why a change stopped on its way.
#[derive(Debug, Error)]
pub(super) enum TransactionError {
    #[error(transparent)]
    File(#[from] PlannedFileError),
    #[error(transparent)]
    PlanStep(#[from] StepError),
    #[error(transparent)]
    Managers(#[from] ManagerError),
    #[error(transparent)]
    Journal(#[from] ChangeJournalError),
    #[error("{found}")]
    NotSeen { found: String },
}

/// Why a person's own command did not run under the guard.
#[derive(Debug, Error)]
pub(super) enum TrialError {
    #[error("there is no command")]
    NoCommand,
    #[error("there is no pipe for its output")]
    Output(#[source] io::Error),
    #[error("{program}")]
    Start {
        program: String,
        #[source]
        source: io::Error,
    },
    #[error("{path}, by which a rollback ends it, cannot be written")]
    Record {
        path: String,
        #[source]
        source: io::Error,
    },
    #[error("it cannot be waited for")]
    Wait(#[source] io::Error),
    #[error("it was killed and does not end: the kernel holds it")]
    Unkillable,
    #[error(transparent)]
    Journal(#[from] ChangeJournalError),
}

/// Why the guard did not do its work.
#[derive(Debug, Error)]
pub enum GuardRunError {
    #[error("'{name}' is no transaction")]
    NotTransaction { name: String },
    #[error("the guard cannot wait")]
    Wait(#[source] io::Error),
    #[error("{path} cannot be locked")]
    Lock {
        path: String,
        #[source]
        source: io::Error,
    },
    #[error("the journal cannot be read")]
    Journal(#[from] ChangeJournalError),
    #[error("the guard stays")]
    Disarm(#[from] GuardSetupError),
    #[error("the guard did not finish: {}", .left.join("; "))]
    Unfinished { left: Vec<String> },
}

/// Why the node would not roll back by itself.
#[derive(Debug, Error)]
pub enum GuardSetupError {
    #[error("the unit {path} cannot be written")]
    Unit {
        path: String,
        #[source]
        source: io::Error,
    },
    #[error("systemd does not take the guard")]
    Manager(#[from] ExternalProgramError),
    #[error(
        "systemd runs no guard that acts at {} s after the boot: {found}",
        .wanted.as_secs_f64()
    )]
    NotCounting { wanted: Duration, found: String },
}

impl GuardSetupError {
    /// The disk takes nothing: it is full, or nobody may write to it.
    pub(super) fn is_disk_error(&self) -> bool {
        matches!(self, Self::Unit { source, .. }
            if crosstie_durable::is_full(source) || source.kind() == io::ErrorKind::ReadOnlyFilesystem)
    }
}

/// Something that a rollback could not restore. It goes on with the rest.
#[derive(Debug, Error)]
pub(super) enum RollbackObstacle {
    #[error("{path} is not restored")]
    File {
        path: String,
        #[source]
        source: io::Error,
    },
    #[error("the program that the boot unit starts is not restored")]
    BootProgram(#[source] io::Error),
    #[error("{what} is not undone")]
    Value {
        what: String,
        #[source]
        source: StepError,
    },
    #[error("the network managers have not read their old files")]
    Reread(#[source] ManagerError),
    #[error(transparent)]
    Network(#[from] network_state::NetworkRestoreObstacle),
    #[error("its end is not noted in {path}")]
    State {
        path: String,
        #[source]
        source: io::Error,
    },
}

impl RollbackObstacle {
    /// Of the network that is there, so that another try may restore it.
    pub(super) fn is_of_network(&self) -> bool {
        matches!(self, Self::Network(obstacle) if !obstacle.is_left())
    }

    /// Worth another try a moment later: a file system that is full, or read-only until it is mounted anew.
    pub(super) fn may_pass(&self) -> bool {
        matches!(
            self,
            Self::File { .. } | Self::BootProgram(_) | Self::State { .. }
        )
    }
}

pub(super) use crosstie_node::with_causes as told;
