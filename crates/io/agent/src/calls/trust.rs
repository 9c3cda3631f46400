//! Logins from and to the user's home directory.

use crosstie_node::trust::{self, Ask, Home, Settled};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{Call, Context, call::with_causes};

pub struct Trust;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Error)]
#[error("{why}")]
pub struct Refusal {
    /// With all its causes.
    pub why: String,
}

impl Call for Trust {
    const NAME: &'static str = "trust";
    type Ask = Ask;
    type Event = ();
    type Answer = Settled;
    type Error = Refusal;

    fn run(ask: Ask, _: &Context<'_, ()>) -> Result<Settled, Refusal> {
        let pushed = trust::pushed();
        let settled = Home::find().and_then(|home| trust::answer(&home, &ask, pushed.as_ref()));
        settled.map_err(|error| Refusal {
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
            trust::leave_no_agent();
        }
    }
}
