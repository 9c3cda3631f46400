//! What was measured. Integers, so that nothing is lost on the way to whoever computes with them.

use serde::{Deserialize, Serialize};

use crate::histogram::Histogram;

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

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bandwidth {
    /// Bytes of a message, and how many were under way on a queue pair: what was really used.
    pub size: u32,
    pub depth: u32,
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
