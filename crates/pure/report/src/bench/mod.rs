//! What was measured between two nodes, for people and for programs.

mod view;

use schemars::JsonSchema;
use serde::Serialize;

pub use view::view;

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Bench {
    /// The two nodes; bandwidth is from the first to the second, and back.
    pub nodes: [String; 2],
    pub operation: Operation,
    /// Bytes of a message in the bandwidth tests.
    pub size: u32,
    pub queue_pairs: u16,
    pub rails: Vec<RailResult>,
    /// All rails at once, where there are several.
    pub all_rails: Option<Directions>,
    /// What makes the figures doubtful.
    pub doubts: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    Write,
    Read,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RailResult {
    /// RDMA devices of both nodes.
    pub devices: [String; 2],
    pub bandwidth: Directions,
    pub latency: Cell<Latency>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Directions {
    pub there: Cell<Bandwidth>,
    pub back: Cell<Bandwidth>,
}

/// A figure, or why there is none: never 0 for something that was not measured.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cell<T> {
    Measured(T),
    NotMeasured(String),
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Bandwidth {
    /// Of messages, without headers.
    pub gbps: f64,
    /// Of the worst tenth of a second; absent in a run that was too short for one.
    pub worst_gbps: Option<f64>,
    pub messages_per_second: f64,
    pub bytes: u64,
    pub nanoseconds: u64,
    /// Of the sending thread's core, over the whole test.
    pub processor_nanoseconds: u64,
}

/// Half a round trip of a 2-byte write with immediate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Latency {
    pub least_ns: u64,
    pub p50_ns: u64,
    pub p99_ns: u64,
    pub p999_ns: u64,
    pub most_ns: u64,
    pub count: u64,
}

/// The JSON schema.
pub fn schema() -> schemars::Schema {
    schemars::schema_for!(Bench)
}

impl Bench {
    /// Why figures are missing, each reason once.
    pub fn failures(&self) -> Vec<&str> {
        let directions = self.rails.iter().map(|rail| &rail.bandwidth);
        let directions = directions.chain(&self.all_rails);
        let bandwidths = directions.flat_map(|both| [both.there.failure(), both.back.failure()]);
        let latencies = self.rails.iter().map(|rail| rail.latency.failure());
        let mut all: Vec<&str> = bandwidths.chain(latencies).flatten().collect();
        let mut seen = std::collections::HashSet::new();
        all.retain(|why| seen.insert(*why));
        all
    }
}

impl<T> Cell<T> {
    fn failure(&self) -> Option<&str> {
        match self {
            Self::Measured(_) => None,
            Self::NotMeasured(why) => Some(why),
        }
    }
}
