//! The cables: an L2 hub behind QEMU's unix-socket netdevs.
//!
//! Each NIC connects to a socket of its own and speaks QEMU's stream framing (a 4-byte big-endian length, then the frame).
//! A cable repeats every frame to all other NICs on it, twins of the sender included, as the real cage does; a switch
//! learns addresses per cage. Faults sit where a cage meets its cable and work in one direction or both, from a seeded
//! generator, so that the same traffic meets the same fate again.

mod control;
mod fault;
mod forward;
mod port;
mod serve;

use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use control::{HubClient, HubStatus};
pub use fault::{
    AttachmentFaults, CableFault, DirectionFaults, FaultDirection, FaultSyntaxError, LostFrames,
};
pub use serve::serve;

/// What one hub process serves; written by `up` beside its sockets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HubConfig {
    pub seed: u64,
    pub control: String,
    pub segments: Vec<HubSegment>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HubSegment {
    pub name: String,
    pub medium: SegmentMedium,
    pub attachments: Vec<HubAttachment>,
}

/// How a segment decides who hears a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SegmentMedium {
    /// Everyone but the sender.
    Repeat,
    /// The cage behind which the address was seen; everyone when it is unknown.
    Learn,
}

/// Where a cage (or the management gateway) meets a segment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HubAttachment {
    /// `node:cage`.
    pub name: String,
    /// Socket paths relative to the hub's working directory, one a NIC.
    pub sockets: Vec<String>,
    /// Hears group frames and those for this prefix only. QEMU's user-mode network answers any frame, whoever it is for.
    pub only_for: Option<[u8; 2]>,
}

#[derive(Debug, Error)]
pub enum HubError {
    #[error("hub: cannot {action} {path}")]
    Socket {
        action: &'static str,
        path: String,
        #[source]
        source: std::io::Error,
    },
    #[error("hub: cannot wait for frames")]
    Poll(#[source] std::io::Error),
    #[error("hub: {path} is not its configuration")]
    Config {
        path: String,
        #[source]
        source: serde_json::Error,
    },
    #[error("the hub at {path} does not answer; is the lab up?")]
    Silent {
        path: String,
        #[source]
        source: std::io::Error,
    },
    #[error("the hub answered with something else than its protocol: {answer}")]
    Answer { answer: String },
    #[error("the hub refused: {reason}")]
    Refused { reason: String },
}
