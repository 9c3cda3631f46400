//! What one end of a test has to say at its end.

use crosstie_figures::{MeasuredBandwidth, MeasuredLatency};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RdmaFigures {
    /// One a size, in their order.
    Bandwidth(Vec<MeasuredBandwidth>),
    Latency(MeasuredLatency),
    /// One a size, in their order.
    Verified(Vec<VerifiedMessages>),
    /// This end answered, or was written to.
    Responded,
}

/// Bytes that were looked at after they had come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerifiedMessages {
    /// Bytes of a message.
    pub size: u32,
    pub messages: u64,
    pub bytes: u64,
    /// That were not what this place of this message should hold.
    pub wrong_bytes: u64,
}
