//! A run: what `prove` measured, on which nodes, with which versions.
//!
//! A run is stored as lines of JSON that are appended while it goes on: a [`RunHeader`], then a line for each measurement
//! and each node that was lost, then an [`RunEnd`]. An interrupted run has no end, and perhaps a torn last line; what stands
//! before is whole. Every line is sealed (see [`RunWriter`]), so that a changed file is refused.
//!
//! Numbers are counts and times as the engines took them: whoever shows a figure divides.

mod header;
mod limits;
mod measurement;
mod reader;
mod seal;
#[cfg(test)]
mod tests;
mod writer;

use serde::{Deserialize, Serialize};

pub use header::{ProofMode, RunHeader, RunNode, RunOptions, RunPcieLink, RunPort};
pub use limits::{MAX_FILE_BYTES, MAX_LINE_BYTES, RunLimitError};
pub use measurement::{
    BandwidthFigures, CounterGrowth, LatencyFigures, MeasuredEnd, Measurement, MeasurementFigures,
    MeasurementOutcome, RdmaOperation, ReachabilityFigure, TestConcurrency, TestKind,
};
pub use reader::{ReadRunError, read};
pub use writer::{RunWriter, WriteRunError};

/// Version of the file format that this build reads and writes.
pub const FORMAT: u32 = 1;

/// A stored run.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredRun {
    pub header: RunHeader,
    /// In the order in which they ended.
    pub measurements: Vec<Measurement>,
    /// Nodes that went away while the run went on.
    pub lost: Vec<LostNode>,
    /// `None`: it was cut off.
    pub end: Option<RunEnd>,
    /// The last line was not whole, and was left out.
    pub torn: bool,
}

/// A node that could not be reached any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LostNode {
    pub host: String,
    pub why: String,
    /// Since the run began.
    pub offset_milliseconds: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunEnd {
    pub reason: RunEndReason,
    /// Since the run began.
    pub offset_milliseconds: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "why")]
pub enum RunEndReason {
    /// Everything that was planned was tried.
    Finished,
    /// A person ended it.
    Interrupted,
    Failed {
        error: String,
    },
}

/// One line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "record")]
pub(crate) enum RunRecord {
    Header(RunHeader),
    Measurement(Box<Measurement>),
    Lost(LostNode),
    End(RunEnd),
}

impl StoredRun {
    /// A run of which nothing is measured yet.
    pub fn new(header: RunHeader) -> Self {
        Self {
            header,
            measurements: Vec::new(),
            lost: Vec::new(),
            end: None,
            torn: false,
        }
    }

    /// Whether everything that was planned was tried.
    pub fn is_finished(&self) -> bool {
        matches!(
            &self.end,
            Some(RunEnd {
                reason: RunEndReason::Finished,
                ..
            })
        )
    }

    pub fn node(&self, host: &str) -> Option<&RunNode> {
        self.header.nodes.iter().find(|node| node.host == host)
    }

    /// The port that an end of a measurement is.
    pub fn port(&self, end: &MeasuredEnd) -> Option<&RunPort> {
        let node = self.node(&end.host)?;
        let device = end.device.as_deref();
        let interface = end.interface.as_deref();
        node.ports.iter().find(|port| match device {
            Some(device) => port.device == device,
            None => port.interface.is_some() && port.interface.as_deref() == interface,
        })
    }

    /// Measurements that ran at the same time as others, by their round.
    pub fn round(&self, round: u32) -> impl Iterator<Item = &Measurement> {
        self.measurements
            .iter()
            .filter(move |measurement| measurement.round == round)
    }
}
