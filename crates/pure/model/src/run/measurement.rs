//! One measurement: between which ends, how, and what came of it.

use std::{collections::BTreeMap, net::IpAddr};

use serde::{Deserialize, Serialize};

use crate::HardwareAddress;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measurement {
    pub kind: TestKind,
    pub phase: TestConcurrency,
    /// Measurements with the same number ran at the same time.
    pub round: u32,
    /// The one that sends.
    pub from: MeasuredEnd,
    pub to: MeasuredEnd,
    /// Since the run began.
    pub offset_milliseconds: u64,
    /// Bytes of a message; of a packet in reachability tests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Queue pairs, or TCP streams.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_pairs: Option<u32>,
    pub outcome: MeasurementOutcome,
    /// By how much counters of both ends grew meanwhile.
    #[serde(default, skip_serializing_if = "CounterGrowth::is_empty")]
    pub counters: CounterGrowth,
    /// Why to hesitate before believing the figure.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TestKind {
    /// A packet of the fabric's size, answered by the port that has the address.
    Reachability,
    TcpBandwidth,
    TcpLatency,
    RdmaBandwidth(RdmaOperation),
    /// Half a round trip of a small message.
    RdmaLatency,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RdmaOperation {
    Write,
    Read,
    Send,
}

/// What else ran at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TestConcurrency {
    /// Nothing.
    Solo,
    /// The other direction of the same pair and rail.
    Bidirectional,
    /// The other rails of the same pair.
    AllRails,
    /// Other pairs, no port in two of them.
    Round,
    /// Other senders to the same receiver.
    Incast,
    /// Like a round, for hours.
    Soak,
}

/// One end of a measurement.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct MeasuredEnd {
    pub host: String,
    /// RDMA device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<IpAddr>,
    /// Which of the ways between two nodes.
    pub rail: u32,
    /// What its cage is plugged into, as [`crate::Cable`] is printed. Both ends of a direct cable have the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cable: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MeasurementOutcome {
    Measured(MeasurementFigures),
    /// It was tried.
    Failed {
        error: String,
    },
    /// It was not tried, since it says nothing here: TCP on InfiniBand without IP.
    NotApplicable {
        reason: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MeasurementFigures {
    Reach(ReachabilityFigure),
    Bandwidth(BandwidthFigures),
    Latency(LatencyFigures),
}

/// Whose answer came.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReachabilityFigure {
    Answered {
        /// The answer's hardware address is the port's; `false` where one of the two is not known.
        hardware_address_checked: bool,
    },
    /// Another port has answered.
    OtherPort {
        expected: HardwareAddress,
        found: HardwareAddress,
        /// Whose it is, if it is one of the same node.
        interface: Option<String>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BandwidthFigures {
    /// Of messages that the peer has acknowledged, or received, within the time below.
    pub bytes: u64,
    pub messages: u64,
    pub nanoseconds: u64,
    /// Bytes of each window in turn.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub windows: Vec<u64>,
    /// Length of a window, 100 ms.
    pub window_nanoseconds: u64,
    /// Processor time that the sending threads used in that time.
    pub processor_nanoseconds: u64,
    /// The same of the receiving threads, where they have to work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receiver_processor_nanoseconds: Option<u64>,
    /// At each end.
    pub threads: u32,
    /// Time in which the send queue had room: the thread that posts could not keep up. Absent where it was not taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_not_full_nanoseconds: Option<u64>,
    /// Whether it ran as long as it was asked to.
    pub complete: bool,
}

/// Nanoseconds, one way.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LatencyFigures {
    pub count: u64,
    pub least: u64,
    pub p50: u64,
    pub p99: u64,
    pub p999: u64,
    pub most: u64,
    /// The highest value of a bucket and how many were in it, in rising order; empty buckets are left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub histogram: Vec<(u64, u64)>,
    /// Whether it ran as long as it was asked to.
    pub complete: bool,
}

/// Counters of the kernel and the driver by their own names, as differences of two readings.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CounterGrowth {
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub from: BTreeMap<String, u64>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub to: BTreeMap<String, u64>,
    /// Between the two readings: warm-up and cool-down lie between them, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nanoseconds: Option<u64>,
    /// Of messages that were sent between the two readings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}

impl CounterGrowth {
    pub fn is_empty(&self) -> bool {
        self.from.is_empty() && self.to.is_empty()
    }
}

impl Measurement {
    pub fn bandwidth(&self) -> Option<&BandwidthFigures> {
        match &self.outcome {
            MeasurementOutcome::Measured(MeasurementFigures::Bandwidth(figures)) => Some(figures),
            _ => None,
        }
    }

    pub fn latency(&self) -> Option<&LatencyFigures> {
        match &self.outcome {
            MeasurementOutcome::Measured(MeasurementFigures::Latency(figures)) => Some(figures),
            _ => None,
        }
    }

    pub fn error(&self) -> Option<&str> {
        match &self.outcome {
            MeasurementOutcome::Failed { error } => Some(error),
            _ => None,
        }
    }
}

impl BandwidthFigures {
    /// Gigabits a second of messages; `None` if no time passed.
    #[allow(clippy::cast_precision_loss)] // 2^53 ns are a hundred days
    pub fn gbps(&self) -> Option<f64> {
        (self.nanoseconds > 0).then(|| self.bytes as f64 * 8.0 / self.nanoseconds as f64)
    }

    /// Gigabits a second of each window.
    #[allow(clippy::cast_precision_loss)] // as above
    pub fn window_gbps(&self) -> impl Iterator<Item = f64> {
        let length = self.window_nanoseconds as f64;
        let windows = self.windows.iter().filter(move |_| length > 0.0);
        windows.map(move |bytes| *bytes as f64 * 8.0 / length)
    }
}

impl TestKind {
    pub fn is_bandwidth(self) -> bool {
        matches!(self, Self::TcpBandwidth | Self::RdmaBandwidth(_))
    }

    pub fn is_rdma(self) -> bool {
        matches!(self, Self::RdmaBandwidth(_) | Self::RdmaLatency)
    }

    /// As JSON output has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Reachability => "reachability",
            Self::TcpBandwidth => "tcp-bandwidth",
            Self::TcpLatency => "tcp-latency",
            Self::RdmaBandwidth(RdmaOperation::Write) => "rdma-write",
            Self::RdmaBandwidth(RdmaOperation::Read) => "rdma-read",
            Self::RdmaBandwidth(RdmaOperation::Send) => "rdma-send",
            Self::RdmaLatency => "rdma-latency",
        }
    }
}

impl TestConcurrency {
    pub fn name(self) -> &'static str {
        match self {
            Self::Solo => "solo",
            Self::Bidirectional => "bidirectional",
            Self::AllRails => "all-rails",
            Self::Round => "round",
            Self::Incast => "incast",
            Self::Soak => "soak",
        }
    }
}
