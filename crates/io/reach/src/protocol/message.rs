//! The messages. What is asked and answered travels behind them as bytes, and is known to the two ends of a call alone.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// From the controller.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToAgent {
    /// With what is asked as its bytes.
    Call {
        id: u64,
        deadline_ms: u64,
        name: String,
    },
    Cancel {
        id: u64,
    },
    /// So many more bytes of the call's stream may be sent, beyond [`STREAM_WINDOW`](super::STREAM_WINDOW).
    Credit {
        id: u64,
        bytes: u64,
    },
    /// A signal ends the controller, Ctrl-C for one: its calls are cancelled and its session ends, and this is why.
    Interrupted,
    /// Somebody is still there.
    Ping,
}

/// From the agent. A call has any number of events and byte frames, then one `Answer` or `Failed`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FromAgent {
    /// With the event as its bytes.
    Event {
        id: u64,
    },
    /// With the answer as its bytes.
    Answer {
        id: u64,
    },
    Failed {
        id: u64,
        failure: CallFailure,
    },
    Pong,
}

/// Why a call has no answer, in the agent's words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Error)]
#[serde(rename_all = "snake_case")]
pub enum CallFailure {
    #[error("it was not done in time")]
    Deadline,
    #[error("it was cancelled")]
    Cancelled,
    #[error("the agent knows no call '{name}'; this is a bug, please report it")]
    Unknown { name: String },
    #[error("the agent cannot read what is asked: {why}; this is a bug, please report it")]
    Unreadable { why: String },
    #[error("the answer is too long to be sent; this is a bug, please report it")]
    TooLong,
    #[error("the agent panicked: {message}; this is a bug, please report it")]
    Panicked { message: String },
    #[error("the agent already works on a call of this number; this is a bug, please report it")]
    Busy,
}
