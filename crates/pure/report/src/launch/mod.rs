//! Jobs of engines, for people and for programs: what would run, what was started, how it is, and what was stopped.

mod plan_view;
mod status_view;
#[cfg(test)]
mod tests;

use crosstie_launch::{
    job::{JobPlan, LaunchEngine, RankCommand, shown_value},
    job_problems::JobProblem,
    job_protocol::{RankEnd, RankPhase, RankStatus, StoppedRank},
    preflight::LaunchObstacle,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    document::{NodeFailure, closed_schema},
    text::printable,
};

pub use plan_view::{launched_view, plan_view};
pub use status_view::{status_view, stopped_view};

/// One line that a rank has printed, with its node where there are several.
pub fn log_line(node: Option<&str>, line: &str) -> String {
    let line = printable(line.trim_end_matches('\r'));
    match node {
        Some(node) => format!("{}: {line}\n", printable(node)),
        None => format!("{line}\n"),
    }
}

/// Version of the JSON.
const FORMAT: u32 = 1;

/// `--dry-run`: commands and environments of every node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LaunchPlan {
    pub format: u32,
    pub cluster: String,
    pub engine: LaunchEngine,
    /// Where the head's watcher listens for the other ranks; port 0 stands for one that is chosen at the start.
    pub watch: String,
    /// Where the engine answers, on the head.
    pub serves: Option<String>,
    pub ranks: Vec<PlannedRank>,
    /// Why it would not run.
    pub obstacles: Vec<LaunchObstacle>,
    pub notes: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PlannedRank {
    pub rank: u32,
    pub host: String,
    /// Absent: it runs what the head sends it.
    pub command: Option<RankCommand>,
    pub environment: Vec<EnvironmentVariable>,
    pub listens: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EnvironmentVariable {
    pub name: String,
    /// `(hidden)` where the name is that of a secret.
    pub value: String,
}

/// A job that was started.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct LaunchReport {
    pub format: u32,
    pub job: String,
    pub cluster: String,
    pub engine: LaunchEngine,
    pub outcome: LaunchOutcome,
    /// Why it ended, where it has.
    pub why: Option<String>,
    pub serves: Option<String>,
    /// What the engine generated before it counted as ready, or because that was all that was wanted.
    pub generated: Option<String>,
    pub ranks: Vec<LaunchedRank>,
    /// Until this was known.
    pub seconds: f64,
    pub notes: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LaunchOutcome {
    /// All ranks run; a server has answered.
    Running,
    /// It has ended as it should.
    Ended,
    Failed,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LaunchedRank {
    pub rank: u32,
    pub host: String,
    /// On the RDMA counters of the fabric's ports, since the start.
    pub rdma_packets: u64,
}

/// Every job of the nodes that were asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct JobsReport {
    pub format: u32,
    pub jobs: Vec<JobStatus>,
    pub failed_nodes: Vec<NodeFailure>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct JobStatus {
    pub job: String,
    pub cluster: String,
    pub engine: LaunchEngine,
    /// Seconds since the epoch, by the clock of whoever started it.
    pub created: u64,
    pub serves: Option<String>,
    pub ranks: Vec<JobRankStatus>,
    /// The causes before what follows from them.
    pub troubles: Vec<JobProblem>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct JobRankStatus {
    pub rank: u32,
    pub host: String,
    /// systemd's word for its unit.
    pub unit: String,
    /// A unit of the system's own manager, not of the user's.
    pub is_system_unit: bool,
    pub phase: Option<RankPhase>,
    pub ended: Option<RankEnd>,
    pub log_bytes: u64,
    pub rdma_packets: u64,
    pub cpu_milliseconds: u64,
    /// That the engine may lock; absent: without limit.
    pub memlock_bytes: Option<u64>,
    /// Since output or RDMA packets were last seen to grow.
    pub idle_seconds: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StoppedJobs {
    pub format: u32,
    pub nodes: Vec<StoppedNode>,
    pub failed_nodes: Vec<NodeFailure>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StoppedNode {
    pub host: String,
    pub jobs: Vec<StoppedRank>,
}

pub fn plan_schema() -> schemars::Schema {
    closed_schema::<LaunchPlan>()
}

pub fn launched_schema() -> schemars::Schema {
    closed_schema::<LaunchReport>()
}

pub fn status_schema() -> schemars::Schema {
    closed_schema::<JobsReport>()
}

pub fn stopped_schema() -> schemars::Schema {
    closed_schema::<StoppedJobs>()
}

impl LaunchPlan {
    pub fn new(
        cluster: &str,
        job: &JobPlan,
        obstacles: Vec<LaunchObstacle>,
        notes: Vec<String>,
    ) -> Self {
        let ranks = job.ranks.iter().map(|rank| PlannedRank {
            rank: rank.rank,
            host: rank.host.clone(),
            command: rank.command.clone(),
            environment: rank
                .environment
                .iter()
                .map(|(name, value)| EnvironmentVariable {
                    name: name.clone(),
                    value: shown_value(name, value).to_owned(),
                })
                .collect(),
            listens: rank.listens.map(|address| address.to_string()),
        });
        Self {
            format: FORMAT,
            cluster: cluster.to_owned(),
            engine: job.engine,
            watch: job.watch.to_string(),
            serves: job.serves.map(|address| address.to_string()),
            ranks: ranks.collect(),
            obstacles,
            notes: job.notes.iter().cloned().chain(notes).collect(),
        }
    }
}

impl LaunchReport {
    pub fn new(job: &str, cluster: &str, engine: LaunchEngine) -> Self {
        Self {
            format: FORMAT,
            job: job.to_owned(),
            cluster: cluster.to_owned(),
            engine,
            outcome: LaunchOutcome::Running,
            why: None,
            serves: None,
            generated: None,
            ranks: Vec::new(),
            seconds: 0.0,
            notes: Vec::new(),
        }
    }
}

impl StoppedJobs {
    pub fn new(nodes: Vec<StoppedNode>, failed_nodes: Vec<NodeFailure>) -> Self {
        Self {
            format: FORMAT,
            nodes,
            failed_nodes,
        }
    }

    pub fn is_clean(&self) -> bool {
        let jobs = self.nodes.iter().flat_map(|node| &node.jobs);
        self.failed_nodes.is_empty() && jobs.into_iter().all(|job| job.left.is_empty())
    }
}

impl JobsReport {
    /// Of all ranks that nodes told of.
    pub fn new(mut ranks: Vec<RankStatus>, failed_nodes: Vec<NodeFailure>) -> Self {
        ranks.sort_by(|a, b| (a.created, &a.job, a.rank).cmp(&(b.created, &b.job, b.rank)));
        let unanswered: Vec<(String, String)> = failed_nodes
            .iter()
            .map(|node| (node.host.clone(), node.error.clone()))
            .collect();
        let jobs = ranks.chunk_by(|a, b| a.job == b.job);
        Self {
            format: FORMAT,
            jobs: jobs.filter_map(|ranks| job(ranks, &unanswered)).collect(),
            failed_nodes,
        }
    }

    pub fn has_troubles(&self) -> bool {
        self.jobs.iter().any(|job| !job.troubles.is_empty())
    }

    /// All ranks of all jobs have ended.
    pub fn are_over(&self) -> bool {
        let ranks = self.jobs.iter().flat_map(|job| &job.ranks);
        ranks.into_iter().all(|rank| rank.ended.is_some())
    }
}

fn job(ranks: &[RankStatus], unanswered: &[(String, String)]) -> Option<JobStatus> {
    let first = ranks.first()?;
    let is_member = |(host, _): &&(String, String)| first.hosts.contains(host);
    let unanswered: Vec<(String, String)> = unanswered.iter().filter(is_member).cloned().collect();
    Some(JobStatus {
        job: first.job.clone(),
        cluster: first.cluster.clone(),
        engine: first.engine,
        created: first.created,
        serves: first.serves.map(|address| address.to_string()),
        ranks: ranks.iter().map(rank).collect(),
        troubles: crosstie_launch::job_problems::troubles(ranks, &unanswered),
    })
}

fn rank(status: &RankStatus) -> JobRankStatus {
    let state = status.state.as_ref();
    let host = status.hosts.get(status.rank as usize);
    JobRankStatus {
        rank: status.rank,
        host: host.cloned().unwrap_or_default(),
        unit: status.unit.clone(),
        is_system_unit: status.is_system_unit,
        phase: state.map(|state| state.phase),
        ended: state.and_then(|state| state.ended.clone()),
        log_bytes: state.map_or(0, |state| state.log_bytes),
        rdma_packets: state.map_or(0, |state| state.rdma_packets),
        cpu_milliseconds: state.map_or(0, |state| state.cpu_microseconds / 1000),
        memlock_bytes: state.and_then(|state| state.memlock),
        idle_seconds: state.map_or(0, |state| status.now.saturating_sub(state.progress_at)),
    }
}
