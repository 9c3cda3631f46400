//! One `crosstie trust` at a time in the user's home directory, from its first change to its last.

use crosstie_node::trust::{Home, Lock};
use serde::{Deserialize, Serialize};

use super::trust::Refusal;
use crate::{Call, Context, call::with_causes};

pub struct TrustLease;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LeaseAsk {
    /// For the run of this name; refused while another has it. It ends with the session at the latest.
    Take {
        run: String,
    },
    GiveBack,
}

/// Held by a session.
#[derive(Default)]
struct HeldLease(Option<Lock>);

impl Call for TrustLease {
    const NAME: &'static str = "trust-lease";
    type Ask = LeaseAsk;
    type Event = ();
    type Answer = ();
    type Error = Refusal;

    fn run(ask: LeaseAsk, context: &Context<'_, ()>) -> Result<(), Refusal> {
        let lease = match ask {
            LeaseAsk::GiveBack => None,
            LeaseAsk::Take { run } => {
                let leased = Home::find().and_then(|home| home.lease(&run));
                let leased = leased.map_err(|error| Refusal {
                    why: with_causes(&error),
                })?;
                // This run has it already: another session's stays where it is.
                let Some(lease) = leased else {
                    return Ok(());
                };
                Some(lease)
            }
        };
        context
            .resources
            .with_only(|held: &mut HeldLease| held.0 = lease);
        Ok(())
    }
}
