//! Which nodes a command is about, and how they are reached.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use crosstie_control::{self as control, CLUSTER_FILE, EventObserver, FleetOptions, LabTargets};
use crosstie_lab::Lab;
use crosstie_reach::secret::{PasswordPurpose, PasswordSource, SecretBytes, SharedPassword};
use crosstie_report::suggested_command::CommandContext;
use crosstie_terminal::TerminalConsole;

use crate::lab;

/// Which nodes a cluster file is made of.
#[derive(Debug, clap::Args)]
pub(crate) struct MemberArgs {
    /// Nodes, as ssh takes them; `.` is this machine. None: those of the cluster file
    #[arg(value_name = "NODE")]
    pub(crate) nodes: Vec<String>,

    /// The nodes of this running lab (see `crosstie lab`): all, or those that are named
    #[arg(long, value_name = "NAME", conflicts_with = "ssh_config")]
    pub(crate) lab: Option<String>,

    /// The cluster file. Where it is there, what is new is added to it
    #[arg(short, long, value_name = "FILE", default_value = "cluster.toml")]
    pub(crate) output: PathBuf,
}

/// Where nodes are found.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ClusterArgs {
    /// The nodes of this running lab (see `crosstie lab`): all, or those that are named
    #[arg(long, value_name = "NAME", conflicts_with = "ssh_config")]
    pub(crate) lab: Option<String>,

    /// The cluster file: which nodes there are, how their ports are grouped and cabled. Left out: ./cluster.toml, else the
    /// lab's own; captures are read without one
    #[arg(long, value_name = "FILE")]
    pub(crate) cluster: Option<PathBuf>,
}

/// Which nodes a command is about.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct NodeArgs {
    /// Nodes, as the cluster file or ssh calls them; `.` is this machine. None: all of the cluster file; for `scan` and
    /// `doctor` without one, this machine
    #[arg(value_name = "NODE")]
    pub(crate) nodes: Vec<String>,

    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

/// Nodes, live or captured. Without a cluster file, none named is this machine.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct TargetArgs {
    #[command(flatten)]
    pub(crate) chosen: NodeArgs,

    /// Read captures instead of live nodes: a directory, a .tar.gz, or a directory of several
    #[arg(long, value_name = "PATH", conflicts_with_all = ["nodes", "lab", "sudo"])]
    pub(crate) from: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) reach: ReachArgs,
}

/// Nodes that are measured: captures cannot be.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct LiveArgs {
    #[command(flatten)]
    chosen: NodeArgs,

    #[command(flatten)]
    reach: ReachArgs,
}

/// Nodes that are planned for.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct PlannedArgs {
    #[command(flatten)]
    chosen: NodeArgs,

    /// Read captures instead of live nodes: a directory, a .tar.gz, or a directory of several
    #[arg(long, value_name = "PATH", conflicts_with_all = ["nodes", "lab", "sudo", "become_password_fd", "ask_become_pass"])]
    from: Vec<PathBuf>,

    #[command(flatten)]
    root: RootArgs,
}

/// How nodes are reached.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Reaching nodes")]
pub(crate) struct ReachArgs {
    /// Read as root, too: `sudo` without a password where that works, else the password is asked for once
    #[arg(long)]
    pub(crate) sudo: bool,

    /// Read the password for sudo from this file descriptor
    #[arg(long, value_name = "N", requires = "sudo", value_parser = descriptor)]
    pub(crate) become_password_fd: Option<u32>,

    /// Ask for the password for sudo on the terminal before anything else, not only where sudo wants one
    #[arg(long, requires = "sudo", conflicts_with = "become_password_fd")]
    pub(crate) ask_become_pass: bool,

    #[command(flatten)]
    pub(crate) connect: ConnectArgs,
}

/// How nodes are reached where nothing can be done without root.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Reaching nodes")]
pub(crate) struct RootArgs {
    /// Said by habit; root is taken in any case.
    #[arg(long, hide = true)]
    sudo: bool,

    /// Read the password for sudo from this file descriptor
    #[arg(long, value_name = "N", value_parser = descriptor)]
    become_password_fd: Option<u32>,

    /// Ask for the password for sudo on the terminal before anything else, not only where sudo wants one
    #[arg(long, conflicts_with = "become_password_fd")]
    ask_become_pass: bool,

    #[command(flatten)]
    connect: ConnectArgs,
}

impl TargetArgs {
    pub(crate) fn resolve(
        &self,
        console: &Arc<TerminalConsole>,
    ) -> anyhow::Result<control::RequestedTargets> {
        let NodeArgs { nodes, cluster } = &self.chosen;
        let lab = cluster.lab.as_deref().map(lab::open).transpose()?;
        Ok(control::RequestedTargets {
            nodes: nodes.clone(),
            from: self.from.clone(),
            cluster: cluster.cluster.clone(),
            options: FleetOptions {
                offer: self.offer(),
                ..self.reach.options(lab.as_ref(), console)
            },
            lab: lab.as_ref().map(lab_targets),
        })
    }

    /// How other commands are told of the same nodes.
    pub(crate) fn offer(&self) -> CommandContext {
        let ReachArgs {
            sudo,
            become_password_fd,
            ask_become_pass,
            ref connect,
        } = self.reach;
        let ClusterArgs { lab, cluster } = &self.chosen.cluster;
        CommandContext {
            nodes: self.chosen.nodes.clone(),
            lab: lab.clone(),
            cluster: cluster.as_deref().filter(|path| !is_found(path)).map(shown),
            sudo,
            become_password_fd,
            ask_become_pass,
            ..connect.offer()
        }
    }
}

pub(crate) fn lab_targets(lab: &Lab) -> LabTargets {
    let nodes = lab.profile().nodes.iter();
    LabTargets {
        nodes: nodes.map(|node| node.name.clone()).collect(),
        spec: lab.spec(),
    }
}

/// It counts without being named.
fn is_found(cluster: &Path) -> bool {
    cluster == Path::new(CLUSTER_FILE)
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

impl NodeArgs {
    pub(crate) fn targets(&self, reach: ReachArgs) -> TargetArgs {
        TargetArgs {
            chosen: self.clone(),
            from: Vec::new(),
            reach,
        }
    }
}

impl PlannedArgs {
    pub(crate) fn targets(&self) -> TargetArgs {
        let mut reach = self.root.reach();
        reach.sudo = self.from.is_empty();
        TargetArgs {
            from: self.from.clone(),
            ..self.chosen.targets(reach)
        }
    }
}

impl LiveArgs {
    pub(crate) fn targets(&self) -> TargetArgs {
        self.chosen.targets(self.reach.clone())
    }
}

impl MemberArgs {
    pub(crate) fn targets(&self, root: &RootArgs) -> TargetArgs {
        let chosen = NodeArgs {
            nodes: self.nodes.clone(),
            cluster: ClusterArgs {
                lab: self.lab.clone(),
                cluster: Some(self.output.clone()),
            },
        };
        chosen.targets(root.reach())
    }
}

impl ReachArgs {
    /// With a lab's own ways in.
    pub(crate) fn options(
        &self,
        lab: Option<&Lab>,
        console: &Arc<TerminalConsole>,
    ) -> FleetOptions {
        let mut options = self.connect.options(console);
        options.root = self.sudo.then(|| Arc::new(self.password(lab, console)));
        options.password_first = self.ask_become_pass;
        if let Some(lab) = lab {
            options.ssh_config = Some(lab.ssh_config());
            options.labs.clear();
        }
        options
    }

    /// For root: asked for now, or once a node wants it.
    fn password(&self, lab: Option<&Lab>, console: &Arc<TerminalConsole>) -> SharedPassword {
        let source = match (self.become_password_fd, lab) {
            (Some(descriptor), _) => PasswordSource::Descriptor(descriptor),
            // A lab's own is no secret of the user's.
            (None, Some(lab)) if !self.ask_become_pass => {
                let secret = Arc::new(SecretBytes::new(lab.password()));
                return SharedPassword::known(secret, PasswordPurpose::Sudo);
            }
            _ if self.ask_become_pass => PasswordSource::Person(Arc::clone(console) as _),
            _ => console.passwords(),
        };
        SharedPassword::new(source, PasswordPurpose::Sudo)
    }
}

impl ConnectArgs {
    fn offer(&self) -> CommandContext {
        CommandContext {
            timeout: (self.timeout != DEFAULT_TIMEOUT_SECONDS).then_some(self.timeout),
            ssh_config: self.ssh_config.as_deref().map(shown),
            agent_dir: self.agent_dir.as_deref().map(shown),
            ..CommandContext::default()
        }
    }

    /// Without root.
    pub(crate) fn options(&self, console: &Arc<TerminalConsole>) -> FleetOptions {
        FleetOptions {
            root: None,
            password_first: false,
            timeout: Duration::from_secs(self.timeout.into()),
            overall_timeout: None,
            ssh_config: self.ssh_config.clone(),
            agent_dir: self.agent_dir.clone(),
            namespaces: false,
            terminal: crosstie_terminal::is_there(),
            labs: lab::running(),
            offer: self.offer(),
            observer: Arc::clone(console) as Arc<dyn EventObserver>,
        }
    }
}

impl RootArgs {
    pub(crate) fn reach(&self) -> ReachArgs {
        ReachArgs {
            sudo: true,
            become_password_fd: self.become_password_fd,
            ask_become_pass: self.ask_become_pass,
            connect: self.connect.clone(),
        }
    }
}

/// A file descriptor that whoever started this has opened for it.
pub(super) fn descriptor(text: &str) -> Result<u32, String> {
    let number = text.parse::<u32>().map_err(|error| error.to_string())?;
    match fs::symlink_metadata(format!("/proc/self/fd/{number}")) {
        Ok(_) => Ok(number),
        Err(_) => Err(format!(
            "file descriptor {number} is not open; a shell opens it with {number}< FILE"
        )),
    }
}

/// Seconds, unless they are given.
const DEFAULT_TIMEOUT_SECONDS: u32 = 60;

/// The way to a node.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Reaching nodes")]
pub(crate) struct ConnectArgs {
    /// Per-node timeout in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = DEFAULT_TIMEOUT_SECONDS, value_parser = clap::value_parser!(u32).range(1..=86400))]
    pub(crate) timeout: u32,

    /// Use this ssh configuration instead of your own
    #[arg(long, value_name = "FILE")]
    pub(crate) ssh_config: Option<PathBuf>,

    /// Where binaries for other architectures are, each in a folder named after one: DIR/aarch64/crosstie
    #[arg(long, value_name = "DIR")]
    pub(crate) agent_dir: Option<PathBuf>,
}
