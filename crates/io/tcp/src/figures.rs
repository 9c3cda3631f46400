//! What one end of a test has to say at its end.

use crosstie_figures::{Bandwidth, Latency};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Figures {
    Bandwidth {
        /// All streams that came in here: the receiver's bytes are the ones that count.
        received: Option<Bandwidth>,
        sent: Option<Sent>,
    },
    Latency(Latency),
    /// This end answered.
    Responded,
}

/// What sending cost, over the time that the receiver measured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sent {
    /// Over the whole test: what was handed to the kernel, not what has arrived.
    pub bytes: u64,
    pub processor_nanoseconds: u64,
}
