//! What ports counted around a run.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

/// One port during one run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RunCounters {
    /// As it was shown while it ran.
    pub run: String,
    #[serde(rename = "host")]
    pub node: String,
    /// The RDMA device, or the interface.
    pub port: String,
    /// Counters that grew, as `group/name`, and by how much.
    pub grown: BTreeMap<String, u64>,
    /// Counters that vanished or began anew.
    pub lost: Vec<String>,
}

/// Something that the counters say against a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CounterFinding {
    pub run: String,
    #[serde(rename = "host")]
    pub node: String,
    pub port: String,
    pub counter: String,
    pub kind: CounterFindingKind,
    /// By how much the counter grew; of bytes, in bytes.
    pub counted: u64,
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CounterFindingKind {
    /// Packets were lost or broken.
    Error,
    /// Something held the traffic up.
    Held,
    /// The port and the engine do not agree on how much was moved.
    Bytes,
}
