//! From a shell on a node to an agent: one connection, over which the binary travels where it is missing.

mod bootstrap;
mod error;
mod failure;
mod login;

use std::{process::Command, time::Duration};

pub use error::ConnectError;
pub(crate) use failure::ssh_failure;
pub use login::LoginCommands;

use crate::{
    agent_pipe::ChildProcessGroup, binary::AgentBinaries, remote_session::RemoteSession,
    secret::SharedPassword,
};
use bootstrap::Bootstrap;

/// What a person may be told of a node while they wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeStage {
    Connecting,
    /// The agent's binary travels: so many bytes of so many.
    Copying {
        done: usize,
        total: usize,
    },
    /// A person may be asked for a password on the terminal.
    Asking,
    Starting,
    Reading,
    /// It is another's turn.
    Waiting,
    /// Files are being changed.
    Changing,
    /// It tries whom it can reach.
    Probing,
    Confirming,
    /// What was changed is restored.
    RollingBack,
    /// At so many Mb/s so far.
    Measuring {
        megabits: u64,
    },
    /// It says its name on its ports and listens for others.
    Listening,
    /// An answer of so many bytes travels.
    Receiving {
        bytes: u64,
    },
}

/// What is wanted of a connection.
pub struct ConnectOptions<'a> {
    pub binaries: &'a AgentBinaries,
    /// Become root, with this password where sudo asks for one.
    pub root: Option<&'a SharedPassword>,
    /// For everything up to the agent's first word.
    pub deadline: Duration,
    pub progress: &'a dyn Fn(NodeStage),
}

/// Starts the agent by way of `shell`, a command whose standard input a shell on the node reads.
pub(crate) fn connect(
    login: &LoginCommands,
    shell: Command,
    group: ChildProcessGroup,
    wanted: &ConnectOptions<'_>,
    without_root_too: bool,
) -> Result<RemoteSession, ConnectError> {
    Bootstrap::start(login, shell, group, wanted)?.by_script(without_root_too)
}

/// Starts the agent by a command that is the agent, of this build.
pub fn direct(
    node: &str,
    agent: Command,
    build: String,
    wanted: &ConnectOptions<'_>,
) -> Result<RemoteSession, ConnectError> {
    let login = LoginCommands::new(node, None);
    Bootstrap::start(&login, agent, ChildProcessGroup::Own, wanted)?.of_build(build)
}
