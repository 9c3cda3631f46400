//! What one end of a test has to say at its end.

use crosstie_figures::{MeasuredBandwidth, MeasuredLatency};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TcpFigures {
    Bandwidth {
        /// All streams that came in here: the receiver's bytes are the ones that count.
        received: Option<MeasuredBandwidth>,
        sent: Option<SendCost>,
    },
    Latency(MeasuredLatency),
    /// This end answered.
    Responded,
}

/// What sending cost, over the time that the receiver measured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SendCost {
    /// Over the whole test: what was handed to the kernel, not what has arrived.
    pub bytes: u64,
    pub processor_nanoseconds: u64,
}
