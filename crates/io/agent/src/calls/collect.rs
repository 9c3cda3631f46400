//! Everything that facts are parsed from, as a packed capture, which is streamed.

use crosstie_node::capture;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{Call, CallContext};

pub struct CollectCall;

/// The answer is there and is being sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollectProgress {
    pub bytes: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollectReply {
    /// Length of the packed capture that was streamed.
    pub bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Error)]
#[serde(rename_all = "snake_case")]
pub enum CollectError {
    #[error("it was stopped")]
    Stopped,
    /// It cannot be packed, or what was packed cannot be unpacked.
    #[error("what the agent read cannot be used: {why}")]
    Unusable { why: String },
}

impl Call for CollectCall {
    const NAME: &'static str = "collect";
    type Request = ();
    type Event = CollectProgress;
    type Answer = CollectReply;
    type Error = CollectError;

    fn run(
        (): (),
        context: &CallContext<'_, CollectProgress>,
    ) -> Result<CollectReply, CollectError> {
        let packed = capture::pack(&crosstie_node::collect());
        let packed = packed.map_err(|error| CollectError::Unusable {
            why: error.to_string(),
        })?;
        let bytes = packed.len() as u64;
        context.emit(&CollectProgress { bytes });
        let sent = context.stream(&packed);
        sent.map_err(|_| CollectError::Stopped)?;
        Ok(CollectReply { bytes })
    }
}
