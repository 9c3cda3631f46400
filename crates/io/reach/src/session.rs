//! Calls to a node, wherever it is, as bytes.

use std::time::Duration;

use thiserror::Error;

use crate::{
    agent_pipe::AgentPipeError,
    protocol::{CallFailure, FrameError, MAX_CALLS, ProtocolError},
};

/// A node that can be asked. Every call carries a deadline and is answered once; several threads may call at once.
pub trait Session: Send + Sync {
    /// What the person called the node.
    fn name(&self) -> &str;

    /// Why it does not run as root though it was asked to.
    fn refusal(&self) -> Option<&str>;

    /// Gives the answer. Both functions are called by the calling thread while it waits: `on_event` may miss all but the
    /// latest, `on_stream` gets every byte, and its error cancels the call.
    fn call_raw(
        &self,
        name: &str,
        ask: &[u8],
        limits: CallLimits<'_>,
        on_event: &mut dyn FnMut(&[u8]),
        on_stream: &mut dyn FnMut(&[u8]) -> Result<(), SessionError>,
    ) -> Result<Vec<u8>, SessionError>;
}

/// How long a call is waited for.
#[derive(Clone, Copy)]
pub struct CallLimits<'a> {
    pub deadline: Duration,
    /// Looked at several times a second: once it is so, the call is cancelled before its deadline.
    pub is_unwanted: Option<&'a dyn Fn() -> bool>,
}

impl From<Duration> for CallLimits<'_> {
    fn from(deadline: Duration) -> Self {
        Self {
            deadline,
            is_unwanted: None,
        }
    }
}

/// Why a call has no answer. Each text goes behind the node's name.
#[derive(Debug, Clone, Error)]
pub enum SessionError {
    #[error("no answer within {} s", .deadline.as_secs())]
    Deadline { deadline: Duration },
    #[error("it has not been heard of for {} s: it hangs, or the network to it is cut", .after.as_secs())]
    Silent { after: Duration },
    #[error("the agent ended in the middle of a call{said}")]
    Ended { said: String },
    #[error("{0}")]
    Failed(CallFailure),
    #[error("unexpected reply: not a Crosstie agent of this build")]
    Protocol(#[source] ProtocolError),
    #[error("unexpected reply: not an answer to what was asked")]
    WrongAnswer,
    #[error("its answer is longer than {} MiB", .limit >> 20)]
    TooLong { limit: usize },
    #[error("what is asked is too long to be sent")]
    AskTooLong(#[source] FrameError),
    #[error("{MAX_CALLS} calls to it are under way already")]
    TooManyCalls,
    #[error("the connection failed")]
    Link(#[source] AgentPipeError),
    #[error("an earlier call broke the connection")]
    Broken,
    #[error("it was interrupted")]
    Interrupted,
}
