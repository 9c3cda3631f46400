//! What can stop a lab command.

use std::path::Path;
use std::time::Duration;

use thiserror::Error;

use crate::hub::{FaultSyntaxError, HubError};
use crate::image::ImageError;
use crate::lock::LabLockError;
use crate::process::EndProcessError;
use crate::profile::ProfileError;
use crate::qemu::QmpError;
use crate::tools::ToolError;

#[derive(Debug, Error)]
pub enum LabError {
    #[error(transparent)]
    Profile(#[from] ProfileError),
    #[error(transparent)]
    Image(#[from] ImageError),
    #[error(transparent)]
    Tool(#[from] ToolError),
    #[error(transparent)]
    Lock(#[from] LabLockError),
    #[error(transparent)]
    Hub(#[from] HubError),
    #[error(transparent)]
    Fault(#[from] FaultSyntaxError),
    #[error("node \"{node}\"")]
    Monitor {
        node: String,
        #[source]
        source: QmpError,
    },
    #[error("lab \"{lab}\" could not be ended")]
    End {
        lab: String,
        #[source]
        source: EndProcessError,
    },
    #[error("cannot {action} {path}")]
    Disk {
        action: &'static str,
        path: String,
        #[source]
        source: std::io::Error,
    },
    #[error("a lab's name is 1 to 40 of a-z, 0-9 and -, not \"{0}\"")]
    Name(String),
    #[error("there is no lab \"{lab}\": {}", others(.known))]
    NoLab { lab: String, known: Vec<String> },
    #[error("there are several labs ({}); give one by --name", .known.join(", "))]
    SeveralLabs { known: Vec<String> },
    #[error("no lab is up; `crosstie lab up` makes one")]
    NoneUp,
    #[error("there are several labs ({}); name one, or give --all", known.join(", "))]
    Several { known: Vec<String> },
    #[error(
        "lab \"{lab}\" is not ready: its `up` was ended early; `crosstie lab down {lab}{option}` clears it away"
    )]
    NotReady { lab: String, option: String },
    #[error(
        "lab \"{lab}\" is already up with profile {profile}, as {kind}; take it down first, or give the new one another --name"
    )]
    OtherProfile {
        lab: String,
        profile: String,
        kind: crate::lab::LabKind,
    },
    #[error("lab \"{lab}\" has no node \"{node}\" (it has: {})", .known.join(", "))]
    NoNode {
        lab: String,
        node: String,
        known: Vec<String>,
    },
    #[error("node \"{node}\" has no port \"{port}\" (it has: {})", .known.join(", "))]
    NoPort {
        node: String,
        port: String,
        known: Vec<String>,
    },
    #[error("node \"{node}\" is off; `crosstie lab reboot {node}{options}` starts it")]
    Off {
        node: String,
        /// By which a command finds the lab.
        options: String,
    },
    #[error(
        "profile {profile} wants {wanted_mib} MiB of memory, {available_mib} MiB are available here; end something, or use a smaller profile"
    )]
    NoMemory {
        profile: String,
        wanted_mib: u64,
        available_mib: u64,
    },
    #[error(
        "{path} has {free_mib} MiB free, the lab wants {wanted_mib} MiB there; free some, or give another directory with {option}"
    )]
    NoSpace {
        path: String,
        free_mib: u64,
        wanted_mib: u64,
        option: &'static str,
    },
    #[error(
        "port {port} of 127.0.0.1 is taken; give another --ssh-port, or none to have a free one chosen"
    )]
    PortTaken { port: u16 },
    #[error("containers need root: run this as root, or leave --containers out")]
    NotRoot,
    #[error(
        "{what} cannot be had with containers; leave --containers out, and the nodes are machines"
    )]
    MachinesOnly { what: String },
    #[error(
        "node \"{node}\" has container settings in its profile: give --containers, since a machine cannot be put into such a state"
    )]
    ContainersOnly { node: String },
    #[error(
        "{path} stays the host's own network namespace; does this kernel have network namespaces?"
    )]
    NoNamespace { path: String },
    #[error("too few free ports on 127.0.0.1; give --ssh-port")]
    NoPortFree,
    #[error("{role} has ended: {complaint}")]
    Died { role: String, complaint: String },
    #[error("node \"{node}\" did not answer within {} s; the end of its console: {console}", .waited.as_secs())]
    NotUp {
        node: String,
        waited: Duration,
        console: String,
    },
    #[error("on node \"{node}\", {cause}; the end of its console: {console}")]
    Stuck {
        node: String,
        cause: ToolError,
        console: String,
    },
}

fn others(labs: &[String]) -> String {
    if labs.is_empty() {
        "no lab is up; `crosstie lab up` makes one".to_owned()
    } else {
        format!("there are {}", labs.join(", "))
    }
}

impl LabError {
    pub(crate) fn disk(
        action: &'static str,
        path: &Path,
    ) -> impl FnOnce(std::io::Error) -> Self + use<> {
        let path = path.display().to_string();
        move |source| Self::Disk {
            action,
            path,
            source,
        }
    }

    pub(crate) fn monitor(node: &str) -> impl FnOnce(QmpError) -> Self + use<> {
        let node = node.to_owned();
        move |source| Self::Monitor { node, source }
    }
}
