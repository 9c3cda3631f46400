//! A session with a node that is made up.

use std::time::Duration;

use crosstie_fabric::cabling::{Listened, Probe};
use crosstie_facts::Raw;
use crosstie_model::change::{Ask, Changed, Kind, State, TransactionStatus};
use crosstie_node::trust;
use crosstie_reach::{Session, SessionError, Stage};

/// Its changes are answered by `change`; there is nothing to read, and of anything else it knows nothing.
pub(crate) struct MadeUp<F> {
    pub(crate) name: String,
    pub(crate) change: F,
}

impl<F> Session for MadeUp<F>
where
    F: FnMut(&Ask) -> Result<Changed, SessionError> + Send,
{
    fn name(&self) -> &str {
        &self.name
    }

    fn collect(&mut self, _: Duration, _: &dyn Fn(Stage)) -> Result<Raw, SessionError> {
        Ok(Raw::default())
    }

    fn trust(
        &mut self,
        _: &trust::Ask,
        _: Duration,
        _: &dyn Fn(Stage),
    ) -> Result<trust::Settled, SessionError> {
        Err(SessionError::Lost)
    }

    fn cabling(
        &mut self,
        _: &Probe,
        _: Duration,
        _: &dyn Fn(Stage),
    ) -> Result<Listened, SessionError> {
        Err(SessionError::Lost)
    }

    fn change(
        &mut self,
        ask: &Ask,
        _: Duration,
        _: &dyn Fn(Stage),
    ) -> Result<Changed, SessionError> {
        (self.change)(ask)
    }
}

/// The run of every change of theirs.
pub(crate) const RUN: &str = "20261115T095959Z-1f2e3d4c";

pub(crate) fn transaction(kind: Kind, state: State) -> TransactionStatus {
    TransactionStatus {
        id: "7".to_owned(),
        run: Some(RUN.to_owned()),
        kind,
        what: "sparks".to_owned(),
        state,
        began: "2026-11-15T10:00:00Z".to_owned(),
        seconds_left: None,
        why: None,
    }
}
