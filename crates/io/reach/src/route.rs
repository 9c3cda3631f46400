//! The ways to a node.

use std::{path::PathBuf, process::Command};

use crate::{
    agent_pipe::ChildProcessGroup,
    binary::build_of,
    connect::{self, ConnectError, ConnectOptions, LoginCommands},
    remote_session::RemoteSession,
    secret::SharedPassword,
    session::Session,
    ssh::{self, SshDestination, SshOptions},
};

#[derive(Debug, Clone)]
pub enum NodeRoute {
    /// This machine, in this process unless root is wanted and we are not.
    Here,
    Ssh {
        destination: SshDestination,
        options: SshOptions,
    },
    /// A network namespace of this machine, by its name in `/run/netns`, and the agent to run there. Takes root.
    Namespace { name: String, program: PathBuf },
}

impl NodeRoute {
    /// What the person called the node.
    pub fn name(&self) -> String {
        match self {
            Self::Here => ".".to_owned(),
            Self::Ssh { destination, .. } => destination.to_string(),
            Self::Namespace { name, .. } => name.clone(),
        }
    }

    /// The same way, over a connection that nobody shares.
    #[must_use]
    pub fn alone(&self) -> Self {
        let mut route = self.clone();
        if let Self::Ssh { options, .. } = &mut route {
            options.alone = true;
        }
        route
    }
}

/// Opens a session. Where root is wanted and refused there is one all the same, and it knows why. `in_process` makes one
/// with this process.
pub fn open(
    route: &NodeRoute,
    wanted: &ConnectOptions<'_>,
    in_process: impl FnOnce(Option<String>) -> Box<dyn Session>,
) -> Result<Box<dyn Session>, ConnectError> {
    match route {
        NodeRoute::Here => here(wanted, in_process),
        NodeRoute::Ssh {
            destination,
            options,
        } => over_ssh(destination, options, wanted).map(boxed),
        NodeRoute::Namespace { name, program } => {
            let mut command = Command::new("ip");
            command.args(["netns", "exec", name]);
            command.arg(program).arg("agent");
            let build = build_of(program).map_err(|source| ConnectError::Spawn {
                program: program.display().to_string(),
                source,
            })?;
            connect::direct(name, command, build, wanted).map(boxed)
        }
    }
}

fn boxed(remote: RemoteSession) -> Box<dyn Session> {
    Box::new(remote)
}

fn here(
    wanted: &ConnectOptions<'_>,
    in_process: impl FnOnce(Option<String>) -> Box<dyn Session>,
) -> Result<Box<dyn Session>, ConnectError> {
    if wanted.root.is_none() || rustix::process::geteuid().is_root() {
        return Ok(in_process(None));
    }
    // sudo may find a terminal to ask on, which it must not: the password is ours to ask for.
    let login = LoginCommands::new(".", None);
    let connect = || {
        let shell = Command::new("/bin/sh");
        connect::connect(&login, shell, ChildProcessGroup::Own, wanted, false)
    };
    match retry_password("this machine", wanted, connect) {
        Err(ConnectError::Sudo { why }) => Ok(in_process(Some(why))),
        remote => remote.map(boxed),
    }
}

/// A person who mistyped the password is asked again.
fn retry_password(
    node: &str,
    wanted: &ConnectOptions<'_>,
    connect: impl Fn() -> Result<RemoteSession, ConnectError>,
) -> Result<RemoteSession, ConnectError> {
    loop {
        let times_asked = wanted.root.map_or(0, SharedPassword::times_asked);
        let connected = connect();
        let is_wrong = matches!(&connected, Err(error) if error.is_wrong_password());
        let once_more = |password: &SharedPassword| password.report_rejected(times_asked, node);
        if !is_wrong || !wanted.root.is_some_and(once_more) {
            return connected;
        }
    }
}

fn over_ssh(
    destination: &SshDestination,
    options: &SshOptions,
    wanted: &ConnectOptions<'_>,
) -> Result<RemoteSession, ConnectError> {
    let login = LoginCommands::new(destination.as_str(), options.config.as_deref());
    // A process that asks on the terminal has to be in the group that the terminal belongs to.
    let group = if options.prompts {
        ChildProcessGroup::Shared
    } else {
        ChildProcessGroup::Own
    };
    let shell = || ssh::command(destination, options);
    let connect = || connect::connect(&login, shell(), group, wanted, true);
    match retry_password(destination.as_str(), wanted, connect) {
        Err(ConnectError::Sudo { why }) => {
            let unprivileged = ConnectOptions {
                root: None,
                ..*wanted
            };
            let remote = connect::connect(&login, shell(), group, &unprivileged, true)?;
            Ok(remote.refused(why))
        }
        remote => remote,
    }
}
