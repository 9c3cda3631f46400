//! What a call has while it runs.

use std::{marker::PhantomData, sync::Arc};

use crosstie_node::StopFlag;
use serde::Serialize;
use thiserror::Error;

use crate::{
    output::{AgentOutput, CallOutputId},
    resources::SessionResources,
};

/// The call was cancelled, is late, or nobody is there any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the call was stopped")]
pub struct CallStopped;

pub struct CallContext<'a, E> {
    /// Set when the call should restore what it changed, and end.
    pub stop: &'a StopFlag,
    /// What outlives the call, and ends with the session.
    pub resources: &'a SessionResources,
    raw: &'a UntypedCallContext,
    event: PhantomData<fn(E)>,
}

pub(crate) struct UntypedCallContext {
    pub(crate) stop: StopFlag,
    pub(crate) resources: Arc<SessionResources>,
    pub(crate) output: Arc<AgentOutput>,
    pub(crate) call: CallOutputId,
}

impl<'a, E: Serialize> CallContext<'a, E> {
    pub(crate) fn new(raw: &'a UntypedCallContext) -> Self {
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
    pub fn stream(&self, bytes: &[u8]) -> Result<(), CallStopped> {
        self.raw.output.stream(self.raw.call, bytes)
    }
}
