//! Logins from and to the user's home directory.

use crosstie_node::trust::{self, HomeFolder, TrustReply, TrustRequest};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{Call, CallContext, call::with_causes};

pub struct TrustCall;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Error)]
#[error("{why}")]
pub struct TrustCallError {
    /// With all its causes.
    pub why: String,
}

impl Call for TrustCall {
    const NAME: &'static str = "trust";
    type Request = TrustRequest;
    type Event = ();
    type Answer = TrustReply;
    type Error = TrustCallError;

    fn run(ask: TrustRequest, _: &CallContext<'_, ()>) -> Result<TrustReply, TrustCallError> {
        let pushed = trust::pushed();
        let settled =
            HomeFolder::find().and_then(|home| trust::handle_request(&home, &ask, pushed.as_ref()));
        settled.map_err(|error| TrustCallError {
            why: with_causes(&error),
        })
    }
}

/// The agent that this session brought along. If the session ends and nothing was asked, its controller died on the way:
/// the agent removes itself. So it does where it came for `crosstie trust` and no journal knows of it, since no undo would.
#[derive(Default)]
pub(crate) struct PushedAgent {
    stays: bool,
}

impl PushedAgent {
    pub(crate) fn stay(&mut self) {
        self.stays = true;
    }
}

impl Drop for PushedAgent {
    fn drop(&mut self) {
        if !self.stays {
            trust::remove_unrecorded_agent();
        }
    }
}
