//! What was measured. Integers, so that nothing is lost on the way to whoever computes with them.

use serde::{Deserialize, Serialize};

use crate::histogram::Histogram;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Figures {
    Bandwidth(Bandwidth),
    Latency(Latency),
    /// This end answered, or was written to.
    Responded,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bandwidth {
    /// Of messages that the peer has acknowledged within the time below.
    pub bytes: u64,
    pub messages: u64,
    pub nanoseconds: u64,
    /// Bytes of each window in turn, so that a dip can be seen; the last one is left out if it is not whole.
    pub windows: Vec<u64>,
    pub window_nanoseconds: u64,
    /// What the sending thread used of its core in that time.
    pub processor_nanoseconds: u64,
    /// Whether it ran as long as it was asked to.
    pub complete: bool,
}

impl Bandwidth {
    /// Bytes of the worst window.
    pub fn worst_window(&self) -> Option<u64> {
        self.windows.iter().copied().min()
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Latency {
    /// Nanoseconds of half a round trip: one way, as perftest has it.
    pub half_round_trips: Histogram,
    /// Whether it ran as long as it was asked to.
    pub complete: bool,
}

/// What is told meanwhile; may be dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// Since the test began, warm-up included.
    pub elapsed_nanoseconds: u64,
    /// Of messages acknowledged, or messages that came back, since then.
    pub bytes: u64,
    pub messages: u64,
}
