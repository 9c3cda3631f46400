//! A lab that is up, and what can be done with its nodes.

mod carrier;
mod containers;
mod down;
mod fault;
mod host;
mod node;
mod text;
mod up;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access;
use crate::error::LabError;
use crate::hub;
use crate::paths::LabPaths;
use crate::profile::{LabNode, LabProfile};
use crate::qemu::{MachineRunState, NodeFilePaths, QemuAccelerator, QmpClient};
use crate::state::{self, LabPhase, LabRecord};
use crate::tools::{self, ToolError, ToolOutput};

pub use down::{down, down_all, down_one};
pub use up::{LabProgram, LabRequest, up};

const STATUS_TIMEOUT: Duration = Duration::from_secs(2);
const HUB_SOCKET: &str = "hub.control";
pub(crate) const HUB_PROCESS: &str = "hub.pid";
const GATEWAY: &str = "gateway";

/// What the nodes of a lab are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LabKind {
    /// QEMU: kernels of their own, with verbs.
    #[default]
    Machines,
    /// Namespaces on the host's kernel, without verbs; at its speed, and root's to make.
    Containers,
}

impl std::fmt::Display for LabKind {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(match self {
            Self::Machines => "machines",
            Self::Containers => "containers",
        })
    }
}

#[derive(Debug)]
pub struct Lab {
    directory: PathBuf,
    record: LabRecord,
    /// Of its paths, for commands that are offered.
    option: String,
}

/// One line of `list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LabListing {
    pub lab: String,
    pub profile: String,
    pub nodes: Vec<LabNodeStatus>,
    /// `spark-a:p0: cut`, one for each port that has some.
    pub faults: Vec<String>,
}

impl LabListing {
    /// What somebody is told who has just changed one.
    pub fn faults_in_words(&self) -> String {
        match self.faults.as_slice() {
            [] => "no fault is left\n".to_owned(),
            faults => format!("fault at {}\n", faults.join("\nfault at ")),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LabNodeStatus {
    pub name: String,
    /// The same, as every other output calls a node.
    pub host: String,
    pub state: LabNodeState,
    pub ssh_port: u16,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LabNodeState {
    /// `up` has not finished, or was killed.
    Starting,
    Running,
    Paused,
    Off,
}

/// What a command on a node gave back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabCommandOutput {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Lab {
    /// A lab that is up.
    pub fn open(paths: &LabPaths, name: &str) -> Result<Self, LabError> {
        let directory = paths.lab(name);
        let record = LabRecord::read(&directory).map_err(|_| LabError::NoLab {
            lab: name.to_owned(),
            known: names(paths),
        })?;
        if record.phase == LabPhase::Ready {
            Ok(Self {
                directory,
                record,
                option: paths.option.clone(),
            })
        } else {
            Err(LabError::NotReady {
                lab: name.to_owned(),
                option: paths.option.clone(),
            })
        }
    }

    /// The only lab there is, or the named one.
    pub fn open_or_only(paths: &LabPaths, name: Option<&str>) -> Result<Self, LabError> {
        if let Some(name) = name {
            return Self::open(paths, name);
        }
        match names(paths).as_slice() {
            [only] => Self::open(paths, only),
            [] => Err(LabError::NoneUp),
            known => Err(LabError::SeveralLabs {
                known: known.to_vec(),
            }),
        }
    }

    pub fn name(&self) -> &str {
        &self.record.name
    }

    pub fn kind(&self) -> LabKind {
        self.record.kind
    }

    pub fn directory(&self) -> &Path {
        &self.directory
    }

    pub fn profile(&self) -> &LabProfile {
        &self.record.profile
    }

    pub fn accel(&self) -> QemuAccelerator {
        self.record.accel
    }

    /// The configuration for `ssh -F`; its hosts are the nodes' names.
    pub fn ssh_config(&self) -> PathBuf {
        self.directory.join(access::SSH_CONFIG)
    }

    /// The password of the nodes' user `lab`.
    pub fn password(&self) -> &str {
        &self.record.password
    }

    pub fn ssh_port(&self, node: &str) -> Result<u16, LabError> {
        let (index, _) = self.find(node)?;
        Ok(self.record.ssh_ports.get(index).copied().unwrap_or(0))
    }

    /// An ssh command to the node, to be given arguments or run as it is.
    pub fn ssh(&self, node: &str, user: Option<&str>) -> Result<Command, LabError> {
        self.find(node)?;
        Ok(access::ssh(&self.directory, node, user))
    }

    /// The command line that runs `arguments` on the node, each argument kept as it is.
    pub fn exec_command(
        &self,
        node: &str,
        user: Option<&str>,
        arguments: &[String],
    ) -> Result<Command, LabError> {
        let mut command = self.ssh(node, user)?;
        command.arg("--").arg(access::quote(arguments));
        Ok(command)
    }

    /// Runs a program on the node as its user `lab`.
    pub fn exec(
        &self,
        node: &str,
        arguments: &[&str],
        deadline: Duration,
    ) -> Result<LabCommandOutput, LabError> {
        self.exec_as(None, node, arguments, deadline)
    }

    pub fn exec_as_root(
        &self,
        node: &str,
        arguments: &[&str],
        deadline: Duration,
    ) -> Result<LabCommandOutput, LabError> {
        self.exec_as(Some("root"), node, arguments, deadline)
    }

    fn exec_as(
        &self,
        user: Option<&str>,
        node: &str,
        arguments: &[&str],
        deadline: Duration,
    ) -> Result<LabCommandOutput, LabError> {
        let arguments: Vec<String> = arguments.iter().map(|text| (*text).to_owned()).collect();
        let mut command = self.exec_command(node, user, &arguments)?;
        if self.record.kind == LabKind::Machines {
            command = access::shared(&self.directory, node, user, &arguments);
        }
        let ToolOutput {
            status,
            stdout,
            stderr,
        } = tools::run(&mut command, deadline).map_err(|mut error| match &mut error {
            ToolError::TooSlow { command, .. } => {
                *command = arguments.join(" ");
                self.timeout_error(node, error)
            }
            _ => error.into(),
        })?;
        Ok(LabCommandOutput {
            code: status.code(),
            stdout,
            stderr,
        })
    }

    /// A node that starts anew knows nothing of the connections to it.
    fn hang_up(&self, node: &str) {
        access::hang_up(&self.directory, node);
    }

    pub fn status(&self) -> LabListing {
        let nodes = self
            .record
            .profile
            .nodes
            .iter()
            .zip(&self.record.ssh_ports)
            .map(|(node, port)| LabNodeStatus {
                name: node.name.clone(),
                host: node.name.clone(),
                state: self.state(node),
                ssh_port: *port,
            })
            .collect();
        LabListing {
            lab: self.record.name.clone(),
            profile: self.record.profile.name.clone(),
            nodes,
            faults: self.fault_lines(),
        }
    }

    /// None of a lab whose cables are gone.
    fn fault_lines(&self) -> Vec<String> {
        let faults = self.faults().unwrap_or_default().faults;
        let known = faults.iter().filter(|(_, faults)| !faults.none());
        known
            .map(|(place, faults)| format!("{place}: {faults}"))
            .collect()
    }

    fn state(&self, node: &LabNode) -> LabNodeState {
        if self.record.phase == LabPhase::Starting {
            return LabNodeState::Starting;
        }
        if !self.is_on(node) {
            return LabNodeState::Off;
        }
        if self.record.kind == LabKind::Containers {
            return self.container_state(node);
        }
        match self
            .monitor(node, STATUS_TIMEOUT)
            .and_then(|mut monitor| monitor.state().map_err(LabError::monitor(&node.name)))
        {
            Ok(MachineRunState::Running) => LabNodeState::Running,
            Ok(MachineRunState::Stopped) => LabNodeState::Paused,
            Err(_) => LabNodeState::Off,
        }
    }

    /// The unix socket of the node's serial console.
    pub fn console(&self, node: &str) -> Result<PathBuf, LabError> {
        let (_, node) = self.find(node)?;
        if self.record.kind == LabKind::Containers {
            return Err(LabError::MachinesOnly {
                what: "a console".to_owned(),
            });
        }
        if !self.is_on(node) {
            return Err(LabError::Off {
                node: node.name.clone(),
                options: self.options(),
            });
        }
        Ok(self.directory.join(NodeFilePaths(&node.name).console()))
    }

    /// Connects to the node's serial console.
    pub fn open_console(&self, node: &str) -> Result<std::os::unix::net::UnixStream, LabError> {
        let path = self.console(node)?;
        crate::socket::connect(&path).map_err(LabError::disk("connect to", &path))
    }

    pub(crate) fn find(&self, name: &str) -> Result<(usize, &LabNode), LabError> {
        let nodes = &self.record.profile.nodes;
        nodes
            .iter()
            .enumerate()
            .find(|(_, node)| node.name == name)
            .ok_or_else(|| LabError::NoNode {
                lab: self.record.name.clone(),
                node: name.to_owned(),
                known: nodes.iter().map(|node| node.name.clone()).collect(),
            })
    }

    fn is_on(&self, node: &LabNode) -> bool {
        state::process(&self.directory, &NodeFilePaths(&node.name).process()).is_some()
    }

    fn monitor(&self, node: &LabNode, deadline: Duration) -> Result<QmpClient, LabError> {
        let path = self.directory.join(NodeFilePaths(&node.name).monitor());
        QmpClient::connect(&path, deadline).map_err(LabError::monitor(&node.name))
    }

    /// Whether the hub and the gateway still run: without them no node can be reached.
    pub(crate) fn has_cables(&self) -> bool {
        [HUB_PROCESS.to_owned(), NodeFilePaths(GATEWAY).process()]
            .iter()
            .all(|file| state::process(&self.directory, file).is_some())
    }

    fn hub(&self) -> hub::HubClient {
        hub::HubClient::new(&self.directory, HUB_SOCKET)
    }

    /// Runs a short script as root; the child is one of the lab's, so that it ends with it.
    fn script(
        &self,
        node: &str,
        script: &str,
        deadline: Duration,
    ) -> Result<ToolOutput, ToolError> {
        let mut command = access::ssh(&self.directory, node, Some("root"));
        command
            .env(crate::process::VARIABLE, &self.directory)
            .args([
                "-o",
                "BatchMode=yes",
                "-o",
                "ConnectTimeout=10",
                "--",
                script,
            ]);
        tools::run(&mut command, deadline)
    }
}

/// All labs of these paths, ready or not.
pub fn list(paths: &LabPaths) -> Vec<LabListing> {
    names(paths)
        .iter()
        .filter_map(|name| {
            let directory = paths.lab(name);
            let record = LabRecord::read(&directory).ok()?;
            let option = paths.option.clone();
            let lab = Lab {
                directory,
                record,
                option,
            };
            Some(lab.status())
        })
        .collect()
}

/// The names of all labs, ready or not.
pub fn names(paths: &LabPaths) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(&paths.labs) else {
        return Vec::new();
    };
    let mut names: Vec<String> = entries
        .flatten()
        .filter(|entry| entry.path().is_dir())
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| !name.starts_with('.'))
        .collect();
    names.sort();
    names
}
