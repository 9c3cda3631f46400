//! Everything that facts are parsed from, as a packed capture, which is streamed.

use crosstie_node::capture;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{Call, Context};

pub struct Collect;

/// The answer is there and is being sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sending {
    pub bytes: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Collected {
    /// Length of the packed capture that was streamed.
    pub bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Error)]
#[serde(rename_all = "snake_case")]
pub enum CollectError {
    #[error("it was stopped")]
    Stopped,
    /// Found by the controller.
    #[error("what the agent read cannot be used: {why}")]
    Unusable { why: String },
}

impl Call for Collect {
    const NAME: &'static str = "collect";
    type Ask = ();
    type Event = Sending;
    type Answer = Collected;
    type Error = CollectError;

    fn run((): (), context: &Context<'_, Sending>) -> Result<Collected, CollectError> {
        let packed = capture::pack(&crosstie_node::collect());
        let bytes = packed.len() as u64;
        context.emit(&Sending { bytes });
        let sent = context.stream(&packed);
        sent.map_err(|_| CollectError::Stopped)?;
        Ok(Collected { bytes })
    }
}
