//! What TCP gave between two nodes.

use schemars::JsonSchema;
use serde::Serialize;

use super::{BenchBandwidth, BenchLatency, BothDirections, MeasuredValue};

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TcpBench {
    /// Of the tests with several.
    pub streams: u16,
    /// Bytes that are handed to the kernel with one call.
    pub block: u32,
    /// Bytes of a message whose latency is measured.
    pub message: u32,
    pub rails: Vec<TcpRailResult>,
    /// All rails at once, with several streams each, where there are several rails.
    pub all_rails: Option<BothDirections<BenchBandwidth>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TcpRailResult {
    /// Of both nodes.
    pub interfaces: [String; 2],
    pub addresses: [String; 2],
    pub one_stream: BothDirections<BenchBandwidth>,
    pub several_streams: BothDirections<BenchBandwidth>,
    /// Several streams each way at once, added up.
    pub both_ways: MeasuredValue<BenchBandwidth>,
    /// Half a round trip of a message and its echo.
    pub latency: MeasuredValue<BenchLatency>,
}

impl TcpBench {
    pub(super) fn failures<'a>(&'a self, all: &mut Vec<&'a str>) {
        for rail in &self.rails {
            rail.one_stream.failures(all);
            rail.several_streams.failures(all);
            all.extend(rail.both_ways.failure());
            all.extend(rail.latency.failure());
        }
        if let Some(rails) = &self.all_rails {
            rails.failures(all);
        }
    }
}
