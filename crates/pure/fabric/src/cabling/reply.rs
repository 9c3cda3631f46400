//! What an agent is asked to do, and what its ports heard.

use serde::{Deserialize, Serialize};

use super::{CablingKey, CablingToken, FrameSender};

/// One node's part of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CablingRequest {
    pub token: CablingToken,
    pub key: CablingKey,
    /// The node's number in the run.
    pub node: u16,
    /// In the order that gives each its number.
    pub interfaces: Vec<String>,
    /// Counted from the call's arrival; the controller may end it before.
    pub listen_ms: u64,
}

/// What one node heard.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CablingReply {
    /// As many as there were interfaces, in their order.
    pub ports: Vec<PortReception>,
    /// What an earlier run that was killed had left, and this one has restored.
    pub restored: Vec<String>,
    /// What could not be restored as it was, and why.
    pub left: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PortReception {
    /// Before anything was done; unknown while a link is administratively down.
    pub carrier_before: Option<bool>,
    /// At any time while it listened.
    pub carrier: Option<bool>,
    /// The link was down and was brought up for as long as it listened.
    pub raised: bool,
    pub heard: Vec<FramesFrom>,
    /// Frames of our kind that are not of this run.
    pub strangers: u32,
    /// Why it could not speak or listen.
    pub problem: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FramesFrom {
    #[serde(flatten)]
    pub sender: FrameSender,
    pub frames: u32,
}
