//! What controller, agents and ranks say to each other about jobs.

use std::net::{IpAddr, SocketAddr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::job::{JobEndRule, LaunchEngine, RankPlan};

/// What a node is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "kebab-case")]
pub enum JobRequest {
    /// What a job would meet here.
    Check(JobCheckRequest),
    Start(Box<RankFile>),
    /// Every job's rank here.
    List,
    /// End it and everything that it started, and leave nothing of it. Names no job: all of them.
    Stop {
        job: Option<String>,
    },
    /// One generation of a server that runs here.
    Generate(GenerateRequest),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "kebab-case")]
pub enum JobReply {
    Checked(Box<JobCheckReply>),
    Started,
    Listed { ranks: Vec<RankStatus> },
    Stopped { jobs: Vec<StoppedRank> },
    Generated { text: String },
}

/// Why it was not done. It travels, so causes are told as text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Error)]
#[serde(rename_all = "kebab-case")]
pub enum JobCallError {
    #[error("cannot {what}: {why}")]
    System { what: String, why: String },
    #[error("systemd does not start {unit}: {why}")]
    Unit { unit: String, why: String },
    #[error(
        "there is no systemd manager of this user here ({why}): pass --sudo for units of the system's own manager"
    )]
    NoUserManager { why: String },
    #[error("there is a job {0} here already")]
    Exists(String),
    #[error("'{0}' is no name of a job")]
    Name(String),
    #[error("{address} answers nothing of use: {why}")]
    Generate { address: SocketAddr, why: String },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JobCheckRequest {
    /// As a person calls it: a name to be looked for, or a path.
    pub program: String,
    /// Options of interest; those that the program's help names come back.
    pub options: Vec<String>,
    pub directory: Option<String>,
    pub files: Vec<FileCheckRequest>,
    /// Must be free.
    pub listens: Vec<SocketAddr>,
    /// Of this address so many free ports are wanted.
    pub free_ports: Option<(IpAddr, u32)>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileCheckRequest {
    pub path: String,
    /// Every byte, not a sample.
    pub whole: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct JobCheckReply {
    /// Whose units they will be.
    pub user: String,
    pub is_root: bool,
    /// Full path of the program.
    pub program: Option<String>,
    /// The first line of what it calls its version.
    pub version: Option<String>,
    pub options: Vec<String>,
    pub directory: Option<String>,
    pub files: Vec<FileCheckReply>,
    /// Those that are taken, and why.
    pub taken: Vec<(SocketAddr, String)>,
    pub free_ports: Vec<u16>,
    /// Bytes that programs can have.
    pub memory: Option<u64>,
    /// What a unit of ours may lock, in bytes; absent: without limit.
    pub memlock: Option<u64>,
    /// Why no unit can be started here.
    pub no_units: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileCheckReply {
    /// As it was asked for.
    pub path: String,
    pub problem: Option<String>,
    pub bytes: u64,
    /// The name of a blob in a Hugging Face cache, else a hash of a sample or of all.
    pub identity: String,
    /// Of a GGUF file.
    pub layers: Option<u32>,
}

/// All that one rank has to know. Only its user can read it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RankFile {
    pub job: String,
    pub cluster: String,
    pub engine: LaunchEngine,
    pub ending: JobEndRule,
    /// Host names by rank.
    pub hosts: Vec<String>,
    pub plan: RankPlan,
    pub directory: Option<String>,
    /// Where the head's watcher listens.
    pub watch: SocketAddr,
    /// 32 bytes in hexadecimal digits: who knows it takes part.
    pub secret: String,
    pub serves: Option<SocketAddr>,
    pub stop_on_hang: bool,
    /// Seconds since the epoch, by the controller's clock.
    pub created: u64,
}

/// One rank as a node tells of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankStatus {
    pub job: String,
    pub cluster: String,
    pub engine: LaunchEngine,
    pub rank: u32,
    pub hosts: Vec<String>,
    pub serves: Option<SocketAddr>,
    pub created: u64,
    /// systemd's word: `active`, `inactive`, `failed`, …
    pub unit: String,
    pub is_system_unit: bool,
    pub state: Option<RankState>,
    /// Seconds since the epoch, by the node's clock.
    pub now: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankState {
    pub phase: RankPhase,
    /// Seconds since the epoch, like all times here.
    pub since: u64,
    /// Why it ended, and whether that is as it should be.
    pub ended: Option<RankEnd>,
    /// Locked memory that the engine may have, in bytes; absent: without limit.
    pub memlock: Option<u64>,
    pub log_bytes: u64,
    /// Packets on the RDMA counters of the fabric's ports since the start.
    pub rdma_packets: u64,
    /// When output or packets were last seen to grow.
    pub progress_at: u64,
    /// Processor time of all its processes, in microseconds.
    pub cpu_microseconds: u64,
    /// Cables whose port here has no carrier, and since when.
    pub dark: Vec<(String, u64)>,
    /// A process of it is stopped (SIGSTOP), since then.
    pub stopped: Option<u64>,
    /// Ranks that are not heard of: their numbers, and when they were last.
    pub silent: Vec<(u32, u64)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RankPhase {
    /// For the other ranks.
    Joining,
    /// All are there, and its own program starts.
    Starting,
    Running,
    Ended,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RankEnd {
    pub ok: bool,
    pub why: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StoppedRank {
    pub job: String,
    pub rank: u32,
    /// What could not be undone.
    pub left: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GenerateRequest {
    pub address: SocketAddr,
    pub prompt: String,
    pub tokens: u32,
    pub seconds: u32,
}

/// The log of one rank, from a place in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JobLogRequest {
    pub job: String,
    pub stream: LogStream,
    /// Lines from its end at first.
    pub lines: u32,
    /// Wait for more until the rank has ended.
    pub follow: bool,
}

/// What of a rank's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LogStream {
    All,
    /// What the engine printed to its standard output, up to a megabyte: its answer, without what it says about itself.
    Answer,
}

/// Between ranks, one a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "say", rename_all = "kebab-case")]
pub enum RankMessage {
    Alive,
    /// Its engine is up, or it has none of its own.
    Ready,
    /// Its engine has ended.
    Ended {
        ok: bool,
        why: String,
    },
    /// The head's: the job is over.
    Over {
        ok: bool,
        why: String,
    },
    /// The head's: run this command of the job's engine.
    Run {
        id: u64,
        command: String,
    },
    Ran {
        id: u64,
        code: i32,
    },
}

/// A job's name, which is a folder's and a unit's, too: letters, digits and `-`.
pub fn is_job_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=64).contains(&name.len()) && name.bytes().all(plain) && !name.starts_with('-')
}
