//! What one end of a test has to say at its end.

use crosstie_figures::{Bandwidth, Latency};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Figures {
    /// One a size, in their order.
    Bandwidth(Vec<Bandwidth>),
    Latency(Latency),
    /// One a size, in their order.
    Verified(Vec<Verified>),
    /// This end answered, or was written to.
    Responded,
}

/// Bytes that were looked at after they had come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verified {
    /// Bytes of a message.
    pub size: u32,
    pub messages: u64,
    pub bytes: u64,
    /// That were not what this place of this message should hold.
    pub wrong_bytes: u64,
}
