//! Why there is no agent on a node. Each text goes behind the node's name.

use std::{io, time::Duration};

use crosstie_model::{distribution::DEBIAN, word};
use thiserror::Error;

use super::{failure::WRONG_PASSWORD, login::LoginCommands};
use crate::{
    agent_pipe::AgentPipeError, binary::AgentBinaryError, protocol::PreambleError,
    ssh::SshDestinationError,
};

/// Also in the script.
const ROOTS_FOLDER: &str = "/var/lib/crosstie";

#[derive(Debug, Error)]
pub enum ConnectError {
    #[error(transparent)]
    Destination(#[from] SshDestinationError),
    #[error(
        "cannot run {program}; is it installed ({} packages {}, {})?",
        DEBIAN.name,
        DEBIAN.packages.ssh_client,
        DEBIAN.packages.ip
    )]
    Spawn { program: String, source: io::Error },

    #[error(
        "ssh refused it: its host key is not the one that is known for it. Somebody may be in between, or it was installed \
         anew. Compare the fingerprint on its console (ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub); if it is right, \
         remove the old key with ssh-keygen -R and log in once with {}",
        .login.ssh()
    )]
    HostKeyChanged { login: LoginCommands },
    #[error(
        "ssh does not know its host key: `{}` shows it and asks; or log in once with `{}` and compare the fingerprint that it \
         shows",
        .login.trust(),
        .login.ssh()
    )]
    HostKeyUnknown { login: LoginCommands },
    #[error(
        "ssh was not let in ({offered}): `{}` asks for the password once and puts a key there; or try `{}`, or scan that node \
         alone from a terminal, so that ssh can ask",
        .login.trust(),
        .login.ssh()
    )]
    Denied {
        login: LoginCommands,
        offered: String,
    },
    #[error(
        "no machine of this name can be found: check the spelling, or give its address{}",
        of_labs(.labs)
    )]
    Unresolved {
        /// Those that are up and have a node of this name.
        labs: Vec<String>,
    },
    #[error("it refuses connections: is sshd running there, on this port?")]
    Refused,
    #[error("it did not answer: is it switched on and on this network?")]
    Unanswered,
    #[error("ssh failed: {said}; try {}", .login.ssh())]
    Ssh { login: LoginCommands, said: String },

    #[error("no agent there within {} s (while {phase})", after.as_secs())]
    Deadline {
        after: Duration,
        phase: &'static str,
    },
    #[error("this is no agent: {0}")]
    Preamble(PreambleError),
    #[error("it runs {kernel}, and crosstie needs Linux")]
    Kernel { kernel: String },
    #[error(transparent)]
    Binary(AgentBinaryError),
    #[error("cannot put the agent there: no space left on its disk ({why})")]
    DiskFull { why: String },
    #[error("cannot put the agent there: {why}; {}", cure(why, "can be written"))]
    Unwritable { why: String },
    #[error("the agent's binary did not arrive whole ({why}); try again")]
    Damaged { why: String },
    #[error("{folder} on it belongs to somebody else than root, so root runs nothing from there")]
    Owner { folder: String },
    #[error(
        "{folder} on it does not belong to the user alone, so nothing is run from there: others could put another program in \
         its place. See who owns it and who may write to it (ls -ld), then remove it, or take their rights away (chmod go-w)"
    )]
    Shared { folder: String },
    #[error(
        "the agent may not be run there ({said}): is its folder mounted noexec? {}",
        cure(said, "is not")
    )]
    NoExec { said: String },
    #[error("its system is too old: crosstie needs glibc 2.34 (Ubuntu 22.04, Debian 12 or newer)")]
    OldSystem,
    #[error("the agent does not start there: {said}")]
    Start { said: String },
    #[error("{why}")]
    Sudo { why: String },
    #[error("an agent of another build answered ({build}); try again")]
    OtherBuild { build: String },
    #[error(
        "the agent for its architecture is crosstie {version}, and this is {ours}: build both at once (make dist)",
        ours = env!("CARGO_PKG_VERSION")
    )]
    OtherVersion { version: String },
    #[error("the connection failed")]
    Link(#[source] AgentPipeError),
}

impl ConnectError {
    pub(crate) fn is_wrong_password(&self) -> bool {
        matches!(self, Self::Sudo { why } if why == WRONG_PASSWORD)
    }
}

/// A lab's nodes are found through its name alone.
fn of_labs(labs: &[String]) -> String {
    let labs: Vec<String> = labs
        .iter()
        .map(|lab| format!("`--lab {}`", word(lab)))
        .collect();
    if labs.is_empty() {
        String::new()
    } else {
        format!(
            "; a lab that is up has a node of this name: {}",
            labs.join(" or ")
        )
    }
}

/// A user's agents may lie elsewhere, root's may not.
fn cure(why: &str, wanted: &str) -> String {
    if why.contains(ROOTS_FOLDER) {
        format!("root's agents lie in {ROOTS_FOLDER}: mend what is wrong with it")
    } else {
        format!("set XDG_CACHE_HOME there to a folder that {wanted}")
    }
}
