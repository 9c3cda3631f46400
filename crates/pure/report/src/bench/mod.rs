//! What was measured between two nodes, for people and for programs.

mod counters;
mod tcp;
mod view;

use crosstie_model::Finding;
use schemars::JsonSchema;
use serde::Serialize;

pub use counters::{CounterFinding, CounterFindingKind, RunCounters};
pub use tcp::{TcpBench, TcpRailResult};
pub use view::view;

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct BenchReport {
    pub format: u32,
    /// The two nodes; bandwidth is from the first to the second, and back.
    pub nodes: [String; 2],
    pub asked: BenchRequest,
    pub rails: Vec<RailResult>,
    /// All rails at once, where there are several.
    pub all_rails: Option<AllRailsResult>,
    /// Where TCP was measured.
    pub tcp: Option<TcpBench>,
    /// What other tools say of the same, if it was asked for.
    pub peers: Vec<PeerFigure>,
    /// Every port's, around every run.
    pub counters: Vec<RunCounters>,
    /// What they say against the figures.
    pub counter_findings: Vec<CounterFinding>,
    /// What explains missing figures.
    pub findings: Vec<BenchFinding>,
    /// What makes the figures doubtful.
    pub doubts: Vec<String>,
}

/// What was asked for. A test may have had less; its figures say so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BenchRequest {
    pub operation: BenchOperation,
    /// Bytes of a message in the bandwidth tests.
    pub size: u32,
    /// Queue pairs a rail.
    pub queue_pairs: u16,
    /// Messages under way on a queue pair.
    pub depth: u32,
    /// Messages that are posted with one call.
    pub list: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BenchOperation {
    Write,
    Read,
    Send,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RailResult {
    /// RDMA devices of both nodes.
    pub devices: [String; 2],
    pub bandwidth: BothDirections<BenchBandwidth>,
    /// Both directions at once, if it was asked for.
    pub bidirectional: Option<MeasuredValue<BidirectionalBandwidth>>,
    /// Each size in turn, if it was asked for.
    pub sweep: Option<BothDirections<Vec<BenchBandwidth>>>,
    pub latency: BenchLatencies,
    /// Every byte looked at, size by size, if it was asked for.
    pub data: Option<BothDirections<Vec<VerifiedData>>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct AllRailsResult {
    pub bandwidth: BothDirections<BenchBandwidth>,
    pub bidirectional: Option<MeasuredValue<BidirectionalBandwidth>>,
    pub data: Option<BothDirections<Vec<VerifiedData>>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct BothDirections<T> {
    pub there: MeasuredValue<T>,
    pub back: MeasuredValue<T>,
}

/// A figure, or why there is none: never 0 for something that was not measured.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MeasuredValue<T> {
    Measured(T),
    NotMeasured(String),
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct BenchBandwidth {
    /// Of messages, without headers.
    pub gbps: f64,
    /// Of the worst tenth of a second; absent in a run that was too short for one.
    pub worst_gbps: Option<f64>,
    /// Absent with TCP, which has no messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages_per_second: Option<f64>,
    /// Bytes of a message, and messages under way on a queue pair: what was really used.
    pub size: u32,
    pub depth: u32,
    pub bytes: u64,
    pub nanoseconds: u64,
    /// Of the threads that send, and with TCP of those that receive, in that time.
    pub processor_nanoseconds: u64,
    /// Gigabytes (10⁹) a second of those threads' processor time.
    pub gbytes_per_processor_second: Option<f64>,
}

/// What another tool says.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PeerFigure {
    pub test: String,
    /// As it ran on the first node.
    pub command: String,
    pub gbps: MeasuredValue<f64>,
}

/// Both directions at once.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct BidirectionalBandwidth {
    /// The sum of both.
    pub gbps: f64,
    pub there: BenchBandwidth,
    pub back: BenchBandwidth,
}

/// Half a round trip of a 2-byte message.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct BenchLatencies {
    pub write_with_immediate: MeasuredValue<BenchLatency>,
    pub send: MeasuredValue<BenchLatency>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BenchLatency {
    pub least_ns: u64,
    pub p50_ns: u64,
    pub p99_ns: u64,
    pub p999_ns: u64,
    pub most_ns: u64,
    pub count: u64,
}

/// Messages of one size of which every byte was looked at where it came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct VerifiedData {
    pub size: u32,
    pub messages: u64,
    pub bytes: u64,
    pub wrong_bytes: u64,
}

/// What the doctor says of a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BenchFinding {
    pub host: String,
    #[serde(flatten)]
    pub finding: Finding,
}

/// The JSON schema.
pub fn schema() -> schemars::Schema {
    crate::document::closed_schema::<BenchReport>()
}

impl BenchReport {
    pub const FORMAT: u32 = 1;

    /// Why figures are missing, each reason once.
    pub fn failures(&self) -> Vec<&str> {
        let mut all = Vec::new();
        for rail in &self.rails {
            rail.bandwidth.failures(&mut all);
            all.extend(rail.bidirectional.iter().filter_map(MeasuredValue::failure));
            if let Some(sweep) = &rail.sweep {
                sweep.failures(&mut all);
            }
            all.extend(rail.latency.write_with_immediate.failure());
            all.extend(rail.latency.send.failure());
        }
        if let Some(rails) = &self.all_rails {
            rails.bandwidth.failures(&mut all);
            all.extend(
                rails
                    .bidirectional
                    .iter()
                    .filter_map(MeasuredValue::failure),
            );
        }
        for data in self.data() {
            data.failures(&mut all);
        }
        if let Some(tcp) = &self.tcp {
            tcp.failures(&mut all);
        }
        let mut seen = std::collections::HashSet::new();
        all.retain(|why| seen.insert(*why));
        all
    }

    /// Bytes that did not arrive as they were sent; none where none were looked at.
    pub fn wrong_bytes(&self) -> u64 {
        let cells = self.data().flat_map(|both| [&both.there, &both.back]);
        let all = cells.filter_map(MeasuredValue::measured).flatten();
        all.map(|one| one.wrong_bytes).sum()
    }

    fn data(&self) -> impl Iterator<Item = &BothDirections<Vec<VerifiedData>>> {
        let rails = self.rails.iter().filter_map(|rail| rail.data.as_ref());
        rails.chain(self.all_rails.iter().filter_map(|all| all.data.as_ref()))
    }
}

impl<T> BothDirections<T> {
    fn failures<'a>(&'a self, all: &mut Vec<&'a str>) {
        all.extend(self.there.failure());
        all.extend(self.back.failure());
    }
}

impl<T> MeasuredValue<T> {
    pub fn measured(&self) -> Option<&T> {
        match self {
            Self::Measured(value) => Some(value),
            Self::NotMeasured(_) => None,
        }
    }

    fn failure(&self) -> Option<&str> {
        match self {
            Self::Measured(_) => None,
            Self::NotMeasured(why) => Some(why),
        }
    }
}
