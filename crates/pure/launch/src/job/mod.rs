//! A job: one rank a node, each with its program, arguments and environment. Pure: what would run, not running it.

mod addresses;
mod llama;
mod mpirun;
#[cfg(test)]
mod tests;
mod torchrun;
mod workload;

use std::net::{IpAddr, SocketAddr};

use crosstie_model::plan::EngineSetting;
use ipnet::IpNet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use addresses::{JobAddresses, JobNetwork, meeting};
pub use workload::{LaunchEngine, LlamaWorkload, MpirunWorkload, TorchrunWorkload, Workload};

/// Ranks of one job at most.
pub const MAX_RANKS: usize = 256;

/// A node that takes part; the first one of a job is its head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobNode {
    pub host: String,
    /// On the fabric, in the order of their rails.
    pub ports: Vec<JobPort>,
    /// Interface and address.
    pub management: Option<(String, IpAddr)>,
    pub settings: Vec<EngineSetting>,
    /// Of a model's layers, in bytes.
    pub memory: Option<u64>,
    pub has_gpus: bool,
    /// Full path, where the node was asked for it.
    pub program: Option<String>,
    /// Options that this build of the program knows.
    pub options: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JobPort {
    pub device: String,
    pub number: u32,
    pub interface: Option<String>,
    pub address: Option<IpNet>,
    /// `spark-a:p0 ↔ spark-b:p0`, or the plane's name.
    pub cable: String,
}

/// What a node runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RankPlan {
    pub rank: u32,
    pub host: String,
    /// Absent: nothing of its own; it runs what the head sends it.
    pub command: Option<RankCommand>,
    /// Values may be secrets.
    pub environment: Vec<(String, String)>,
    /// It counts as ready once it listens here.
    pub listens: Option<SocketAddr>,
    /// Its engine starts once all others are ready.
    pub waits_for_peers: bool,
    /// Programs of its job may start others on the other nodes.
    pub starts_on_peers: bool,
    pub ports: Vec<JobPort>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RankCommand {
    pub program: String,
    pub arguments: Vec<String>,
}

/// When a job is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum JobEndRule {
    /// With its head; another rank that ends first is a failure.
    WithHead,
    /// When all ranks have ended; one that fails ends all.
    WithAll,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobPlan {
    pub engine: LaunchEngine,
    pub ending: JobEndRule,
    pub ranks: Vec<RankPlan>,
    /// Where the head's watcher listens.
    pub watch: SocketAddr,
    /// Where a person reaches the engine.
    pub serves: Option<SocketAddr>,
    /// What a person should know.
    pub notes: Vec<String>,
}

/// Ports of the head that were free when it was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeadPorts {
    pub watch: u16,
    pub rendezvous: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum JobError {
    #[error("a job needs a node")]
    NoNodes,
    #[error("{0} nodes are more than one job may have ({MAX_RANKS})")]
    TooMany(usize),
    #[error(
        "{head} and {node} share no subnet of the fabric, and llama.cpp's RPC is never exposed elsewhere; run `crosstie up`, or choose \
         another head with --head"
    )]
    NoFabric { head: String, node: String },
    #[error(
        "the nodes have no network in common with {head}: neither management addresses that differ nor a subnet of the fabric; \
         run `crosstie doctor`"
    )]
    NoMeeting { head: String },
    #[error("{0} must not be empty, nor begin with '-'")]
    Argument(&'static str),
    #[error("llama.cpp needs a second node: its RPC servers run on all nodes but the head")]
    OneNode,
}

/// Commands and environments of every node; the first node is the head.
pub fn plan(workload: &Workload, nodes: &[JobNode], ports: HeadPorts) -> Result<JobPlan, JobError> {
    let Some(head) = nodes.first() else {
        return Err(JobError::NoNodes);
    };
    if nodes.len() > MAX_RANKS {
        return Err(JobError::TooMany(nodes.len()));
    }
    let watch = addresses::watch_address(nodes).ok_or_else(|| JobError::NoMeeting {
        head: head.host.clone(),
    })?;
    let watch = SocketAddr::new(watch, ports.watch);
    match workload {
        Workload::Llama(llama) => llama::plan(llama, nodes, watch),
        Workload::Torchrun(torchrun) => torchrun::plan(torchrun, nodes, watch, ports),
        Workload::Mpirun(mpirun) => mpirun::plan(mpirun, nodes, watch),
    }
}

impl JobNode {
    /// As it is on the node, else as the person called it.
    fn program<'a>(&'a self, called: &'a str) -> &'a str {
        self.program.as_deref().unwrap_or(called)
    }
}

/// The node's settings, what is said of this job, and what the person said, which counts.
fn environment(node: &JobNode, of_job: Vec<(String, String)>) -> Vec<(String, String)> {
    use crosstie_model::plan::EngineKind;
    let is_custom = |setting: &&EngineSetting| setting.engine == EngineKind::Custom;
    let pair = |setting: &EngineSetting| (setting.name.clone(), setting.value.clone());
    let own = node.settings.iter().filter(|setting| !is_custom(setting));
    let custom = node.settings.iter().filter(is_custom);
    let mut all: Vec<(String, String)> = Vec::new();
    for (name, value) in own.map(pair).chain(of_job).chain(custom.map(pair)) {
        match all.iter_mut().find(|(other, _)| *other == name) {
            Some(known) => known.1 = value,
            None => all.push((name, value)),
        }
    }
    all
}

fn check_word(what: &'static str, text: &str) -> Result<(), JobError> {
    if text.is_empty() || text.starts_with('-') {
        return Err(JobError::Argument(what));
    }
    Ok(())
}

/// Of values that are shown: whoever reads a dry run over a shoulder learns no token.
pub fn shown_value<'a>(name: &str, value: &'a str) -> &'a str {
    const SECRET: [&str; 12] = [
        "TOKEN",
        "KEY",
        "SECRET",
        "PASS",
        "PWD",
        "CRED",
        "AUTH",
        "PRIVATE",
        "BEARER",
        "COOKIE",
        "SESSION",
        "SIGNATURE",
    ];
    let upper = name.to_ascii_uppercase();
    // Personal access tokens, and no paths.
    let is_token = upper.split('_').any(|word| word == "PAT");
    if is_token || SECRET.iter().any(|word| upper.contains(word)) {
        "(hidden)"
    } else {
        value
    }
}
