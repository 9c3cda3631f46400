//! One `crosstie trust` at a time in the user's home directory, from its first change to its last.

use crosstie_node::trust::{HomeFolder, HomeLock};
use serde::{Deserialize, Serialize};

use super::trust::TrustCallError;
use crate::{Call, CallContext, call::with_causes};

pub struct HomeLeaseCall;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HomeLeaseRequest {
    /// For the run of this name; refused while another has it. It ends with the session at the latest.
    Take {
        run: String,
    },
    Release,
}

/// Held by a session.
#[derive(Default)]
struct HeldLease(Option<HomeLock>);

impl Call for HomeLeaseCall {
    const NAME: &'static str = "home-lease";
    type Request = HomeLeaseRequest;
    type Event = ();
    type Answer = ();
    type Error = TrustCallError;

    fn run(ask: HomeLeaseRequest, context: &CallContext<'_, ()>) -> Result<(), TrustCallError> {
        let lease = match ask {
            HomeLeaseRequest::Release => None,
            HomeLeaseRequest::Take { run } => {
                let leased = HomeFolder::find().and_then(|home| home.lease(&run));
                let leased = leased.map_err(|error| TrustCallError {
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
