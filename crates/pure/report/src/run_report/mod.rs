//! A run with its grades, as programs get it and as the HTML report shows it: every number on the page is in here.

mod build;
mod cables;
mod grade;
mod histogram;
mod matrix;
mod sentence;
mod sizes;
mod summary;
mod view;

use std::fmt;

use crosstie_doctor::RunWithFaults;
use crosstie_grade::GradedRun;
use crosstie_model::{Finding, run::StoredRun};
use schemars::JsonSchema;
use serde::Serialize;

pub use build::run_report;
pub use grade::Grade;
pub use summary::{MedianRange, MessageSizePoint, MessageSizeRow, MessageSizeSeries, RunSummary};
pub use view::view;

/// Version of the JSON.
pub const FORMAT: u32 = 1;

/// `crosstie report --json`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RunReport {
    pub format: u32,
    /// The name in the cluster file.
    pub cluster: Option<String>,
    /// The controller's clock when the run began.
    pub started: String,
    /// Version of Crosstie that measured.
    pub crosstie: String,
    pub options: OptionsReport,
    pub end: EndReport,
    pub summary: RunSummary,
    pub nodes: Vec<RunNodeReport>,
    pub cables: Vec<CableReport>,
    /// Every figure: from one port to another, in one way. The best of all tries.
    pub pairs: Vec<PairReport>,
    /// All rails between two nodes at once.
    pub rail_sums: Vec<RailSumReport>,
    /// One cell for each node and each other one.
    pub matrix: Vec<MatrixCell>,
    /// RDMA bandwidth over the size of messages, of all paths together.
    pub sizes: Vec<MessageSizeRow>,
    /// The same, path by path.
    pub size_series: Vec<MessageSizeSeries>,
    /// RDMA latency of all paths together.
    pub latency_histogram: Vec<HistogramBucket>,
    /// Nodes that went away meanwhile.
    pub lost: Vec<LostNodeReport>,
    /// What the run shows to be wrong; one that another explains names it.
    pub findings: Vec<Finding>,
    /// What `--share` replaced; absent where names are the true ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replaced: Option<Vec<ReplacedNameCount>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct OptionsReport {
    pub mode: &'static str,
    /// Of a soak.
    pub soak_seconds: Option<u64>,
    /// How long one test measures.
    pub test_milliseconds: u32,
    pub sizes: Vec<u64>,
    pub queue_pairs: Vec<u32>,
    /// What the cluster file says a port should carry.
    pub declared_rate_gbps: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EndReport {
    /// `finished`, `interrupted`, `failed` or `cut-off`.
    pub state: &'static str,
    pub error: Option<String>,
    /// Since the run began; of the last measurement where the run was cut off.
    pub milliseconds: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RunNodeReport {
    pub host: String,
    /// What it is and what it runs, in the order in which it is shown.
    pub facts: Vec<NodeFactRow>,
    pub ports: Vec<PortReport>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NodeFactRow {
    pub what: &'static str,
    pub value: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PortReport {
    pub device: String,
    pub interface: Option<String>,
    pub cage: Option<String>,
    pub model: Option<String>,
    pub firmware: Option<String>,
    pub link_layer: Option<String>,
    pub rate_gbps: Option<f64>,
    pub interface_mtu: Option<u32>,
    pub path_mtu: Option<u32>,
    /// The narrowest PCI Express link above it.
    pub pcie: Option<String>,
    pub pcie_gbps: Option<f64>,
}

/// One cable, or one attachment to a switch.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CableReport {
    pub name: String,
    pub ends: Vec<CableReportEnd>,
    /// The switch plane, of an attachment.
    pub plane: Option<String>,
    /// Each direction of each rail counts with the best figure that crossed the cable; the worst of those is its grade.
    /// A slow peer does not make a cable slow.
    pub grade: Option<Grade>,
    /// Of the figure that the grade is from.
    pub percent: Option<u32>,
    pub gbps: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CableReportEnd {
    pub host: String,
    pub cage: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PairReport {
    pub from: String,
    pub to: String,
    pub from_device: Option<String>,
    pub to_device: Option<String>,
    pub rail: u32,
    /// `rdma-write`, `tcp-bandwidth`, `rdma-latency`, …
    pub kind: &'static str,
    /// What else ran at the same time: `solo`, `round`, `all-rails`, …
    pub phase: &'static str,
    pub size: Option<u64>,
    pub queue_pairs: Option<u32>,
    pub gbps: Option<f64>,
    pub ceiling_gbps: Option<f64>,
    /// Of the ceiling, rounded.
    pub percent: Option<u32>,
    /// The slowest tenth of a second.
    pub worst_gbps: Option<f64>,
    pub latency_us: Option<LatencyReport>,
    pub verdict: Grade,
    /// Why there is no grade, no figure or no test.
    pub why: Option<String>,
    /// What the figure looks like.
    pub limit: Option<String>,
    pub ledger: Option<LedgerReport>,
    pub doubts: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct LatencyReport {
    pub min: f64,
    pub p50: f64,
    pub p99: f64,
    pub p999: f64,
    pub max: f64,
    pub count: u64,
}

/// Messages that took so long.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct HistogramBucket {
    pub from_us: f64,
    pub to_us: f64,
    pub count: u64,
    pub percent: f64,
}

/// Where the bandwidth of a pair went. All in Gb/s.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct LedgerReport {
    pub port_rate: f64,
    pub deductions: Vec<LedgerLine>,
    pub ceiling: f64,
    pub losses: Vec<LedgerLine>,
    pub unexplained: f64,
    pub measured: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct LedgerLine {
    pub what: String,
    pub gbps: f64,
    /// It was seen, and not how much it costs.
    pub at_most: bool,
    pub evidence: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RailSumReport {
    pub from: String,
    pub to: String,
    pub rails: usize,
    pub gbps: f64,
    pub ceiling_gbps: Option<f64>,
    pub percent: Option<u32>,
    pub verdict: Grade,
    pub limit: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct MatrixCell {
    pub from: String,
    pub to: String,
    /// The worst of its rails; absent where nothing was tested.
    pub grade: Option<Grade>,
    pub percent: Option<u32>,
    pub gbps: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LostNodeReport {
    pub host: String,
    pub why: String,
    /// Since the run began.
    pub milliseconds: u64,
}

/// What `--share` did with one kind of names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ReplacedNameCount {
    /// In the singular.
    pub what: &'static str,
    pub count: usize,
}

impl fmt::Display for ReplacedNameCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, count) = (self.what, self.count);
        match (count, what.strip_suffix('s')) {
            (1, _) => write!(f, "1 {what}"),
            (_, Some(stem)) => write!(f, "{count} {stem}ses"),
            (_, None) => write!(f, "{count} {what}s"),
        }
    }
}

/// What `--share` did, in one line; nothing where names are the true ones.
pub fn replaced_line(replaced: Option<&[ReplacedNameCount]>) -> String {
    let words = |replaced: &[ReplacedNameCount]| {
        if replaced.is_empty() {
            return "nothing: there was no name in it".to_owned();
        }
        let words: Vec<String> = replaced.iter().map(ToString::to_string).collect();
        words.join(", ")
    };
    replaced.map_or_else(String::new, |all| format!("replaced: {}\n", words(all)))
}

/// The JSON schema.
pub fn schema() -> schemars::Schema {
    crate::document::closed_schema::<RunReport>()
}

/// The run graded, with the findings that it shows. `replaced` is what was done to its names.
pub fn report_of(run: &StoredRun, replaced: Option<Vec<ReplacedNameCount>>) -> RunReport {
    run_report(
        &GradedRun::new(run),
        RunWithFaults::new(run).findings(),
        replaced,
    )
}

impl RunReport {
    /// What a person calls the run.
    pub fn title(&self) -> &str {
        self.cluster.as_deref().unwrap_or("unnamed cluster")
    }

    /// Large messages over RDMA that are held against a ceiling.
    pub fn graded(&self) -> impl Iterator<Item = &PairReport> {
        self.pairs.iter().filter(|pair| pair.verdict.is_graded())
    }
}

impl PairReport {
    pub fn is_rdma_bandwidth(&self) -> bool {
        matches!(self.kind, "rdma-write" | "rdma-read" | "rdma-send")
    }

    /// Nothing else that the pair or its ports did was meant to slow it down.
    pub fn is_undisturbed(&self) -> bool {
        matches!(self.phase, "solo" | "round")
    }
}
