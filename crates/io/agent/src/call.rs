//! What a call is.

use std::error::Error;

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::context::CallContext;

/// A question to a node. Integers on the wire: bytes, milliseconds or nanoseconds.
pub trait Call {
    /// Among all calls.
    const NAME: &'static str;

    type Request: Serialize + DeserializeOwned;
    /// How far it is. At most five a second arrive, the latest of them, and none may: what counts is in the answer.
    type Event: Serialize + DeserializeOwned;
    type Answer: Serialize + DeserializeOwned;
    /// Why it cannot be answered, in its own words.
    type Error: Error + Serialize + DeserializeOwned;

    /// On the node, in a thread of its own.
    fn run(
        ask: Self::Request,
        context: &CallContext<'_, Self::Event>,
    ) -> Result<Self::Answer, Self::Error>;
}

/// Of a call that always has an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum NoError {}

/// Of an error that travels as text.
pub(crate) use crosstie_node::with_causes;
