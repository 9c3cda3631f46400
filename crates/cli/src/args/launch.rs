//! Arguments of `crosstie launch`.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use clap::{Args, Subcommand, value_parser};
use crosstie_control::launch::LaunchOptions;
use crosstie_launch::job::{LlamaWorkload, MpirunWorkload, TorchrunWorkload, Workload};

use super::reach::{ClusterArgs, NodeArgs, ReachArgs, TargetArgs};

/// Start an engine on the nodes, over the fabric; see that it really answers and really uses RDMA; watch and stop it
///
/// Every rank is a unit of systemd's: it outlives this command and your login, and `launch stop` ends everything that it
/// started, whoever started it. A rank that ends ends the job on all nodes.
#[derive(Debug, Args)]
#[command(after_help = include_str!("../../help/launch.txt"))]
pub(crate) struct LaunchArgs {
    #[command(subcommand)]
    pub(crate) command: LaunchCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LaunchCommand {
    Llama(LlamaArgs),
    Torchrun(TorchrunArgs),
    Mpirun(MpirunArgs),
    Status(JobStatusArgs),
    Logs(LogsArgs),
    Stop(StopArgs),
}

/// Which nodes take part.
#[derive(Debug, Clone, Args)]
pub(crate) struct JobTargets {
    /// A node that takes part, as the cluster file or ssh calls it (may be repeated). None: all of the cluster file
    #[arg(long = "node", value_name = "NODE")]
    nodes: Vec<String>,

    #[command(flatten)]
    cluster: ClusterArgs,

    #[command(flatten)]
    reach: ReachArgs,
}

impl JobTargets {
    pub(crate) fn targets(&self, from: &[PathBuf]) -> TargetArgs {
        let chosen = NodeArgs {
            nodes: self.nodes.clone(),
            cluster: self.cluster.clone(),
        };
        TargetArgs {
            from: from.to_vec(),
            ..chosen.targets(self.reach.clone())
        }
    }
}

/// What every engine takes.
#[derive(Debug, Clone, Args)]
pub(crate) struct JobArgs {
    #[command(flatten)]
    pub(crate) targets: JobTargets,

    /// Print each node's command and environment, and what stands in the way; start nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// With --dry-run: captures instead of live nodes
    #[arg(long, value_name = "PATH", requires = "dry_run", conflicts_with_all = ["lab", "nodes", "sudo"])]
    pub(crate) from: Vec<PathBuf>,

    /// The node that the job begins at [default: the cluster file's first]
    #[arg(long, value_name = "NODE")]
    head: Option<String>,

    /// Where the engine's programs are, on every node [default: the user's PATH]
    #[arg(long, value_name = "DIR")]
    programs: Option<String>,

    /// In which directory of each node it runs [default: the user's home]
    #[arg(long, value_name = "DIR")]
    directory: Option<String>,

    /// A variable: NAME=VALUE, or NAME for the value that it has here. It is in no argument list on any node
    #[arg(long, value_name = "NAME[=VALUE]")]
    set: Vec<String>,

    /// A file that must be there, and the same, on every node (may be repeated)
    #[arg(long, value_name = "FILE")]
    same: Vec<String>,

    /// Compare every byte of files, not a sample of them
    #[arg(long)]
    verify_weights: bool,

    /// Start in spite of faults that the doctor finds
    #[arg(long)]
    force: bool,

    /// End the job everywhere when a cable of it goes dark, or a rank is stopped or silent for 15 seconds
    #[arg(long)]
    stop_on_hang: bool,

    /// Wait until the job has ended
    #[arg(long, conflicts_with = "dry_run")]
    wait: bool,

    /// Seconds for all ranks to run, and for a server to answer
    #[arg(long, value_name = "SECONDS", default_value_t = 600, value_parser = value_parser!(u32).range(5..=86400))]
    start_timeout: u32,

    /// Print JSON (see `crosstie schema launch`, `crosstie schema launch-plan`)
    #[arg(long)]
    pub(crate) json: bool,
}

impl JobArgs {
    pub(crate) fn options(&self, workload: Workload) -> LaunchOptions {
        LaunchOptions {
            workload,
            head: self.head.clone(),
            programs: self.programs.clone(),
            directory: self.directory.clone(),
            set: self.set.clone(),
            same: self.same.clone(),
            verify_weights: self.verify_weights,
            force: self.force,
            stop_on_hang: self.stop_on_hang,
            wait: self.wait,
            start_timeout: Duration::from_secs(self.start_timeout.into()),
        }
    }
}

/// llama.cpp: the model on the head, its layers on all nodes by their memory
///
/// RPC servers listen on addresses of the fabric alone. It counts as started when it has generated, and when packets were
/// seen on the RDMA counters of every node: llama.cpp itself falls back to TCP in silence.
#[derive(Debug, Clone, Args)]
#[command(after_help = include_str!("../../help/launch-llama.txt"))]
pub(crate) struct LlamaArgs {
    /// The model's file on the head, in the GGUF format
    #[arg(value_name = "MODEL")]
    model: String,

    /// Further arguments of llama-server or llama-completion, behind `--`
    #[arg(last = true, value_name = "ARG")]
    arguments: Vec<String>,

    /// Generate once, print it and end, instead of serving
    #[arg(long, value_name = "TEXT")]
    prompt: Option<String>,

    /// With --prompt: how much
    #[arg(long, value_name = "N", default_value_t = 64)]
    tokens: u32,

    /// Size of the context in tokens
    #[arg(long, value_name = "N", default_value_t = 4096)]
    context: u32,

    /// Where llama-server listens on the head
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,

    /// Port of the RPC servers, on the fabric
    #[arg(long, value_name = "PORT", default_value_t = 50_052, value_parser = value_parser!(u16).range(1..))]
    rpc_port: u16,

    /// Go on where no RDMA packets are counted
    #[arg(long)]
    allow_tcp: bool,

    #[command(flatten)]
    pub(crate) job: JobArgs,
}

impl LlamaArgs {
    pub(crate) fn workload(&self) -> Workload {
        Workload::Llama(LlamaWorkload {
            model: self.model.clone(),
            layers: None,
            prompt: self.prompt.clone(),
            tokens: self.tokens,
            context: self.context,
            rpc_port: self.rpc_port,
            listen: self.listen,
            allow_tcp: self.allow_tcp,
            arguments: self.arguments.clone(),
        })
    }
}

/// Torchrun on every node, with one rendezvous at the head
#[derive(Debug, Clone, Args)]
#[command(after_help = include_str!("../../help/launch-torchrun.txt"))]
pub(crate) struct TorchrunArgs {
    /// The script, in the job's directory of every node
    #[arg(value_name = "SCRIPT")]
    script: String,

    /// Its arguments, behind `--`
    #[arg(last = true, value_name = "ARG")]
    arguments: Vec<String>,

    /// Processes on each node
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = value_parser!(u32).range(1..=256))]
    processes: u32,

    #[command(flatten)]
    pub(crate) job: JobArgs,
}

impl TorchrunArgs {
    pub(crate) fn workload(&self) -> Workload {
        Workload::Torchrun(TorchrunWorkload {
            script: self.script.clone(),
            arguments: self.arguments.clone(),
            processes_per_node: self.processes,
        })
    }
}

/// Open MPI's mpirun on the head; what it starts on the other nodes runs in their units, without ssh between nodes
#[derive(Debug, Clone, Args)]
#[command(after_help = include_str!("../../help/launch-mpirun.txt"))]
pub(crate) struct MpirunArgs {
    /// The command, behind `--`
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<String>,

    /// Processes on each node
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = value_parser!(u32).range(1..=256))]
    processes: u32,

    /// Plain TCP over the fabric instead of UCX
    #[arg(long)]
    allow_tcp: bool,

    #[command(flatten)]
    pub(crate) job: JobArgs,
}

impl MpirunArgs {
    pub(crate) fn workload(&self) -> Workload {
        Workload::Mpirun(MpirunWorkload {
            command: self.command.clone(),
            processes_per_node: self.processes,
            allow_tcp: self.allow_tcp,
        })
    }
}

/// How jobs are: every rank, its counters, and what is wrong with its cause
#[derive(Debug, Clone, Args)]
#[command(after_help = include_str!("../../help/launch-status.txt"))]
pub(crate) struct JobStatusArgs {
    /// Left out: all
    #[arg(value_name = "JOB")]
    pub(crate) job: Option<String>,

    /// Look again every two seconds, until all jobs have ended or Ctrl-C
    #[arg(long)]
    pub(crate) watch: bool,

    /// Print JSON (see `crosstie schema launch-status`); with --watch one line a round
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) targets: JobTargets,
}

/// What the ranks of a job print
#[derive(Debug, Clone, Args)]
#[command(after_help = include_str!("../../help/launch-logs.txt"))]
pub(crate) struct LogsArgs {
    /// Left out: the only one
    #[arg(value_name = "JOB")]
    pub(crate) job: Option<String>,

    /// Go on until the job has ended
    #[arg(short, long)]
    pub(crate) follow: bool,

    /// Last lines of each rank to begin with
    #[arg(short = 'n', long, value_name = "N", default_value_t = 100)]
    pub(crate) lines: u32,

    #[command(flatten)]
    pub(crate) targets: JobTargets,
}

/// End a job on all nodes, with everything that it started; also one whose controller is gone
#[derive(Debug, Clone, Args)]
#[command(after_help = include_str!("../../help/launch-stop.txt"))]
pub(crate) struct StopArgs {
    /// Left out: the only one
    #[arg(value_name = "JOB", conflicts_with = "all")]
    pub(crate) job: Option<String>,

    /// Every job of yours on these nodes
    #[arg(long)]
    pub(crate) all: bool,

    /// Print JSON (see `crosstie schema launch-stop`)
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) targets: JobTargets,
}
