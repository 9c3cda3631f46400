//! The messages.

use crosstie_fabric::cabling::{Listened, Probe};
use crosstie_model::change::{Ask as Change, ChangeError, Changed};
use crosstie_node::{
    cabling::CablingError,
    trust::{Ask, Settled},
};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// From the controller.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToAgent {
    Call {
        id: u64,
        deadline_ms: u64,
        what: What,
    },
    Cancel {
        id: u64,
    },
    /// Somebody is still there.
    Ping,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// Who are you?
    Hello,
    /// Everything that facts are parsed from, as a packed capture.
    Collect,
    /// Logins from and to the user's home directory.
    Trust(Ask),
    /// Say your name on these interfaces, and who was heard there.
    Cabling(Probe),
    /// Change this node, or say what became of it.
    Change(Change),
}

/// From the agent. A call has any number of events and byte frames, then one `Done`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FromAgent {
    Event {
        id: u64,
        event: Event,
    },
    Done {
        id: u64,
        result: Result<Answer, Failure>,
    },
    Pong,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// The answer is there and now travels.
    Sending { bytes: u64 },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    Hello(Hello),
    /// A packed capture of so many bytes went before this.
    Collected {
        bytes: u64,
    },
    Trusted(Settled),
    Cabling(Result<Listened, CablingError>),
    Changed(Result<Changed, ChangeError>),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// The kernel's name for the architecture.
    pub machine: String,
    pub user: u32,
    pub process: u32,
}

/// Why a call has no answer, in the agent's words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Error)]
#[serde(rename_all = "snake_case")]
pub enum Failure {
    #[error("it was not done in time")]
    Deadline,
    #[error("it was cancelled")]
    Cancelled,
    #[error("{why}")]
    Refused { why: String },
    #[error("the agent stumbled: {message}; this is a bug, please report it")]
    Panicked { message: String },
    #[error("the agent already works on a call of this number; this is a bug, please report it")]
    Busy,
}
