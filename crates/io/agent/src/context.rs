//! What a call has while it runs.

use std::{marker::PhantomData, sync::Arc};

use crosstie_node::Stop;
use serde::Serialize;
use thiserror::Error;

use crate::{
    output::{CallOutput, Output},
    resources::Resources,
};

/// The call was cancelled, is late, or nobody is there any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the call was stopped")]
pub struct Stopped;

pub struct Context<'a, E> {
    /// Set when the call should restore what it changed, and end.
    pub stop: &'a Stop,
    /// What outlives the call, and ends with the session.
    pub resources: &'a Resources,
    raw: &'a RawContext,
    event: PhantomData<fn(E)>,
}

pub(crate) struct RawContext {
    pub(crate) stop: Stop,
    pub(crate) resources: Arc<Resources>,
    pub(crate) output: Arc<Output>,
    pub(crate) call: CallOutput,
}

impl<'a, E: Serialize> Context<'a, E> {
    pub(crate) fn new(raw: &'a RawContext) -> Self {
        Self {
            stop: &raw.stop,
            resources: &raw.resources,
            raw,
            event: PhantomData,
        }
    }

    /// Never waits. Replaces an event that is not sent yet.
    pub fn emit(&self, event: &E) {
        if let Ok(event) = serde_json::to_vec(event) {
            self.raw.output.event(self.raw.call, event);
        }
    }

    /// Every byte arrives, in order and before the answer. Waits until the receiver has room.
    pub fn stream(&self, bytes: &[u8]) -> Result<(), Stopped> {
        self.raw.output.stream(self.raw.call, bytes)
    }
}
