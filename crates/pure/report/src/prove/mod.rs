//! What `crosstie prove` says: on a terminal and as JSON, from a stored run.

mod build;
mod ledger;
mod matrix;
mod step;
#[cfg(test)]
mod tests;
mod view;

use schemars::JsonSchema;
use serde::Serialize;

use crate::HostFinding;
pub use step::step_line;
pub use view::{verdict, view};

/// Version of the JSON.
pub const FORMAT: u32 = 1;

/// What `prove --json` prints.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ProveReport {
    pub format: u32,
    /// The controller's clock when it began; empty where nothing could be measured.
    pub started: String,
    pub cluster: Option<String>,
    /// `quick`, `full` or `soak`; `none` where nothing could be measured.
    pub mode: String,
    /// Everything that was planned was tried.
    pub finished: bool,
    pub nodes: Vec<ProvenNode>,
    /// One row for each way and each thing that was measured, the best of all tries.
    pub pairs: Vec<PairRow>,
    /// All rails between two nodes at once.
    pub rails: Vec<RailsRow>,
    pub collectives: Vec<CollectiveRow>,
    pub findings: Vec<HostFinding>,
    pub untested: UntestedPaths,
    /// Since the run that it was compared with.
    pub changes: Vec<DifferenceRow>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ProvenNode {
    pub host: String,
    pub kernel: Option<String>,
    pub rdma_driver: Option<String>,
    pub gpu_driver: Option<String>,
    pub nccl: Vec<String>,
    /// Why it could not be read, or went away while the run went on.
    pub lost: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PairRow {
    pub from: String,
    pub to: String,
    pub rail: u32,
    /// `reachability`, `tcp-bandwidth`, `tcp-latency`, `rdma-write`, `rdma-read`, `rdma-send` or `rdma-latency`.
    pub kind: String,
    /// What ran at the same time: `solo`, `bidirectional`, `all-rails`, `round`, `incast` or `soak`.
    pub phase: String,
    pub size: Option<u64>,
    pub queue_pairs: Option<u32>,
    pub gbps: Option<f64>,
    pub ceiling_gbps: Option<f64>,
    /// Whole percents of the ceiling.
    pub percent: Option<u32>,
    pub latency_us: Option<LatencyRow>,
    /// `healthy`, `warning`, `fault`, `not-graded`, `failed` or `not-applicable`.
    pub verdict: String,
    /// Why it is not graded, or was not measured.
    pub reason: Option<String>,
    /// What the figure looks like; several where they cannot be told apart by it.
    pub limits: Vec<String>,
    pub ledger: Option<LedgerRows>,
    pub doubts: Vec<String>,
}

/// Half a round trip.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct LatencyRow {
    pub min: f64,
    pub p50: f64,
    pub p99: f64,
    pub p999: f64,
    pub max: f64,
}

/// From the port's rate to the figure, in Gb/s.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct LedgerRows {
    pub port_rate: f64,
    pub deductions: Vec<LedgerRow>,
    pub ceiling: f64,
    pub causes: Vec<LedgerRow>,
    pub unexplained: f64,
    pub measured: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct LedgerRow {
    pub what: String,
    pub gbps: f64,
    /// It was seen, and not how much it cost.
    pub at_most: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RailsRow {
    pub from: String,
    pub to: String,
    pub gbps: f64,
    pub ceiling_gbps: Option<f64>,
    pub percent: Option<u32>,
    pub verdict: String,
    pub limits: Vec<String>,
    /// Gb/s of each rail.
    pub rails: Vec<Option<f64>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CollectiveRow {
    pub op: String,
    pub transport: String,
    pub ranks: u32,
    pub size: u64,
    pub time_us: f64,
    pub algbw_gbytes: f64,
    pub busbw_gbytes: f64,
    /// Values that were not what they should be.
    pub wrong: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct UntestedPaths {
    /// All paths of the fabric.
    pub paths: u64,
    pub untested: u64,
    /// The first few.
    pub examples: Vec<[String; 2]>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DifferenceRow {
    pub what: String,
    pub subject: String,
    pub before: String,
    pub after: String,
}

/// The JSON schema of `prove --json`.
pub fn schema() -> schemars::Schema {
    crate::document::closed_schema::<ProveReport>()
}
