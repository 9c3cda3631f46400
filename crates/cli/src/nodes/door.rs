//! The ways into one node.

use std::{sync::Arc, time::Duration};

use crosstie_reach::{Session, Stage};

use super::{Common, Place};

/// Where sessions with a node come from.
pub(crate) trait Door: Send + Sync {
    /// As the person called it.
    fn name(&self) -> &str;

    /// The session that is open, or a new one.
    fn session(&self, progress: &dyn Fn(Stage)) -> Result<Box<dyn Session>, String>;

    /// Over a connection that is opened now and shared with nobody.
    fn fresh(&self, within: Duration, progress: &dyn Fn(Stage))
    -> Result<Box<dyn Session>, String>;

    /// For the next one who needs a session.
    fn keep(&self, session: Box<dyn Session>);
}

pub(super) struct Entrance {
    place: Arc<Place>,
    common: Arc<Common>,
}

impl Entrance {
    pub(super) fn new(place: &Arc<Place>, common: &Arc<Common>) -> Self {
        Self {
            place: Arc::clone(place),
            common: Arc::clone(common),
        }
    }
}

impl Door for Entrance {
    fn name(&self) -> &str {
        &self.place.name
    }

    fn session(&self, progress: &dyn Fn(Stage)) -> Result<Box<dyn Session>, String> {
        let open = self.place.session.try_lock().ok();
        match open.and_then(|mut slot| slot.take()) {
            Some(session) => Ok(session),
            None => self.fresh(self.common.login, progress),
        }
    }

    fn fresh(
        &self,
        within: Duration,
        progress: &dyn Fn(Stage),
    ) -> Result<Box<dyn Session>, String> {
        progress(Stage::Connecting);
        self.common
            .open(&self.place.route.alone(), within, progress)
    }

    fn keep(&self, session: Box<dyn Session>) {
        if let Ok(mut slot) = self.place.session.try_lock() {
            *slot = Some(session);
        }
    }
}
