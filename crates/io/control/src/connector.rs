//! Where sessions with one node come from.

use std::{sync::Arc, time::Duration};

use crosstie_reach::{Session, Stage};

use crate::{
    NodeError,
    fleet::{NodeSlot, Shared},
};

pub trait Connector: Send + Sync {
    /// As the person called the node.
    fn name(&self) -> &str;

    /// The session that is open, or a new one.
    fn session(&self, progress: &dyn Fn(Stage)) -> Result<Box<dyn Session>, NodeError>;

    /// Over a connection that is opened now and shared with nobody.
    fn fresh(
        &self,
        within: Duration,
        progress: &dyn Fn(Stage),
    ) -> Result<Box<dyn Session>, NodeError>;

    /// For the next one who needs a session.
    fn keep(&self, session: Box<dyn Session>);
}

/// To a node of a fleet.
pub(crate) struct FleetConnector {
    slot: Arc<NodeSlot>,
    shared: Arc<Shared>,
}

impl FleetConnector {
    pub(crate) fn new(slot: &Arc<NodeSlot>, shared: &Arc<Shared>) -> Self {
        Self {
            slot: Arc::clone(slot),
            shared: Arc::clone(shared),
        }
    }
}

impl Connector for FleetConnector {
    fn name(&self) -> &str {
        &self.slot.name
    }

    fn session(&self, progress: &dyn Fn(Stage)) -> Result<Box<dyn Session>, NodeError> {
        let open = self.slot.session.try_lock().ok();
        match open.and_then(|mut session| session.take()) {
            Some(session) => Ok(session),
            None => self.fresh(self.shared.login, progress),
        }
    }

    fn fresh(
        &self,
        within: Duration,
        progress: &dyn Fn(Stage),
    ) -> Result<Box<dyn Session>, NodeError> {
        progress(Stage::Connecting);
        self.shared.open(&self.slot.route.alone(), within, progress)
    }

    fn keep(&self, session: Box<dyn Session>) {
        if let Ok(mut slot) = self.slot.session.try_lock() {
            *slot = Some(session);
        }
    }
}
