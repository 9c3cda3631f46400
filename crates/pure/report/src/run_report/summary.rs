//! What a run comes to: counts, middles, and one sentence.

use schemars::JsonSchema;
use serde::Serialize;

use super::Grade;

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RunSummary {
    /// The worst of all grades; `not-graded` where there is none.
    pub verdict: Grade,
    /// In one sentence.
    pub sentence: String,
    /// Where to look first.
    pub first: Option<String>,
    pub nodes: usize,
    pub cables: usize,
    pub measurements: usize,
    /// Figures that are held against a ceiling, and those among them that are …
    pub graded: usize,
    pub healthy: usize,
    pub warnings: usize,
    pub faults: usize,
    /// Tests that were tried and gave no figure.
    pub failed: usize,
    pub lowest_percent: Option<u32>,
    /// Medians over all paths.
    pub rdma_gbps: Option<MedianRange>,
    pub tcp_gbps: Option<MedianRange>,
    pub rdma_latency_us: Option<MedianRange>,
    pub tcp_latency_us: Option<MedianRange>,
}

/// Of many figures. Medians, since one that is off must not move the answer.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct MedianRange {
    pub count: usize,
    pub least: f64,
    pub median: f64,
    pub most: f64,
}

/// RDMA bandwidth of messages of one size.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct MessageSizeRow {
    pub size: u64,
    /// Over all paths, each with its best number of queue pairs.
    pub gbps: MedianRange,
}

/// The same of one path.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct MessageSizeSeries {
    pub from: String,
    pub to: String,
    pub rail: u32,
    /// In the order of sizes.
    pub points: Vec<MessageSizePoint>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct MessageSizePoint {
    pub size: u64,
    pub gbps: f64,
}
