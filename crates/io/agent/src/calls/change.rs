//! Changes the node under a guard, or says what became of a change. As root.

use crosstie_change::{self as change, RollbackOnSessionEnd};
use crosstie_model::change::{ChangeError, ChangeReply, ChangeRequest};
use crosstie_node::agent_cache;

use crate::{Call, CallContext};

pub struct ChangeCall;

impl Call for ChangeCall {
    const NAME: &'static str = "change";
    type Request = ChangeRequest;
    type Event = ();
    type Answer = ChangeReply;
    type Error = ChangeError;

    fn run(ask: ChangeRequest, context: &CallContext<'_, ()>) -> Result<ChangeReply, ChangeError> {
        if let ChangeRequest::Uninstall { .. } = &ask {
            refuse_while_jobs_run()?;
        }
        let own = |session: &mut RollbackOnSessionEnd| session.own.clone();
        let mut answer = change::handle_request(&ask, context.resources.with_only(own))?;
        if let (ChangeRequest::Uninstall { .. }, ChangeReply::RolledBack(outcome)) =
            (&ask, &mut answer)
        {
            outcome.left.extend(crosstie_jobs::remove_ended());
            outcome.left.extend(agent_cache::remove());
        }
        Ok(answer)
    }
}

/// What a job is ended by lies in the folders that go.
fn refuse_while_jobs_run() -> Result<(), ChangeError> {
    let running = crosstie_jobs::running().map_err(|error| ChangeError::Journal {
        what: "jobs of `crosstie launch`".to_owned(),
        why: error.to_string(),
    })?;
    if running.is_empty() {
        return Ok(());
    }
    let jobs = running.join(", ");
    Err(ChangeError::JobsRun { jobs })
}
