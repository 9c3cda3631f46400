//! Changes the node under a guard, or says what became of a change. As root.

use crosstie_change::{self as change, SessionChange};
use crosstie_model::change::{Ask, ChangeError, Changed};
use crosstie_node::agent_cache;

use crate::{Call, Context};

pub struct Change;

impl Call for Change {
    const NAME: &'static str = "change";
    type Ask = Ask;
    type Event = ();
    type Answer = Changed;
    type Error = ChangeError;

    fn run(ask: Ask, context: &Context<'_, ()>) -> Result<Changed, ChangeError> {
        let own = |session: &mut SessionChange| session.own.clone();
        let mut answer = change::answer(&ask, context.resources.with_only(own))?;
        if let (Ask::Uninstall { .. }, Changed::RolledBack(outcome)) = (&ask, &mut answer) {
            outcome.left.extend(agent_cache::remove());
        }
        Ok(answer)
    }
}
