//! What an agent is asked to do, and what its ports heard.

use serde::{Deserialize, Serialize};

use super::{Key, Sender, Token};

/// One node's part of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probe {
    pub token: Token,
    pub key: Key,
    /// The node's number in the run.
    pub node: u16,
    /// In the order that gives each its number.
    pub interfaces: Vec<String>,
    /// Counted from the call's arrival; the controller may end it before.
    pub listen_ms: u64,
}

/// What one node heard.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Listened {
    /// As many as there were interfaces, in their order.
    pub ports: Vec<PortHeard>,
    /// What an earlier run that was killed had left, and this one has put back.
    pub put_back: Vec<String>,
    /// What could not be put back as it was, and why.
    pub left: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PortHeard {
    /// Before anything was done; unknown while a link is administratively down.
    pub carrier_before: Option<bool>,
    /// At any time while it listened.
    pub carrier: Option<bool>,
    /// The link was down and was brought up for as long as it listened.
    pub raised: bool,
    pub heard: Vec<Heard>,
    /// Frames of our kind that are not of this run.
    pub strangers: u32,
    /// Why it could not speak or listen.
    pub problem: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heard {
    #[serde(flatten)]
    pub sender: Sender,
    pub frames: u32,
}
