//! Engines on the nodes of a cluster: checked before they start, started as units of systemd's, proven by what they generate and
//! by RDMA counters, watched, and stopped.

mod check;
mod logs;
mod nodes;
mod ready;
mod start;
mod status;

use std::time::Duration;

use crosstie_launch::{job::JobError, job::Workload, preflight::LaunchObstacle};

use crate::{
    NoRandomNumbers, NodesFailed, SnapshotError, TargetsError, env::EnvCommandError,
    plan::PlanError,
};

pub use logs::{JobLogOptions, logs};
pub use start::{launch, plan};
pub use status::{JobChoice, status, stop};

/// For one question about jobs, on an emulated node too.
const ASK_TIMEOUT: Duration = Duration::from_secs(60);
/// A stop waits for engines that take their time, then for systemd to kill them.
const STOP_TIMEOUT: Duration = Duration::from_secs(120);
/// Programs are asked for their versions, files are hashed.
const CHECK_TIMEOUT: Duration = Duration::from_secs(120);
/// With `--verify-weights`: every byte of large files.
const VERIFY_TIMEOUT: Duration = Duration::from_secs(3600);

/// What is to be started, and how.
#[derive(Debug, Clone)]
pub struct LaunchOptions {
    pub workload: Workload,
    /// The node that the job begins at; else the cluster file's first.
    pub head: Option<String>,
    /// Where the engine's programs are, on every node.
    pub programs: Option<String>,
    /// In which it runs; else the user's home directory.
    pub directory: Option<String>,
    /// Variables, as `crosstie env --set` takes them.
    pub set: Vec<String>,
    /// Files that have to be there, and the same on all nodes.
    pub same: Vec<String>,
    pub verify_weights: bool,
    /// Start in spite of the doctor's faults.
    pub force: bool,
    pub stop_on_hang: bool,
    /// Until it has ended.
    pub wait: bool,
    /// Until all ranks run.
    pub start_timeout: Duration,
}

#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error(transparent)]
    Targets(#[from] TargetsError),
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    #[error(transparent)]
    Env(#[from] EnvCommandError),
    #[error(transparent)]
    Job(#[from] JobError),
    #[error(transparent)]
    Random(#[from] NoRandomNumbers),
    #[error("a node could not be asked")]
    Nodes(#[source] NodesFailed),
    #[error("{0} is none of the job's nodes")]
    NoHead(String),
    #[error("{node} has no {count} free ports at {address}")]
    NoPorts {
        node: String,
        address: std::net::IpAddr,
        count: u32,
    },
    #[error("nothing was started")]
    Obstacles(#[source] ObstacleLines),
    #[error("{job} did not start, and was stopped on all nodes")]
    NotStarted {
        job: String,
        #[source]
        source: NodesFailed,
    },
    #[error("{job} was stopped: not all ranks ran within {seconds} s: {state}")]
    Late {
        job: String,
        seconds: u64,
        state: String,
    },
    #[error("{job} was stopped: {why}")]
    Ended { job: String, why: String },
    #[error(
        "{job} was stopped: it generated, but not over RDMA: {why}; pass --allow-tcp to run it all the same"
    )]
    NotRdma { job: String, why: String },
    #[error("{job} was stopped: at temperature 0 it answered '{first}', then '{second}'")]
    NotTheSame {
        job: String,
        first: String,
        second: String,
    },
    #[error("there is no job here")]
    NoJob,
    #[error("there is no job {0} here")]
    Unknown(String),
    #[error("there are several jobs: {}; name one, or pass --all", .0.join(", "))]
    Several(Vec<String>),
}

/// One a line: the node, what is wrong, the evidence and the fix.
#[derive(Debug, thiserror::Error)]
#[error("{}", lines(.0))]
pub struct ObstacleLines(pub Vec<LaunchObstacle>);

fn lines(obstacles: &[LaunchObstacle]) -> String {
    let lines = obstacles.iter().map(|obstacle| {
        let LaunchObstacle {
            host,
            what,
            evidence,
            fix,
        } = obstacle;
        format!("{host}: {what}: {evidence}. Fix: {fix}")
    });
    lines.collect::<Vec<_>>().join("\n")
}
