//! Whoever changes the machine that they sit at asks another node whether it can still be seen.

use std::sync::Arc;

use crosstie_model::change::Probe;
use crosstie_reach::{Session, Stage};

use super::ask::{Limits, reach};
use crate::Connector;

/// Who may be asked, and for what.
pub(super) struct SeenBy {
    pub(super) peers: Vec<Arc<dyn Connector>>,
    /// Addresses of this machine that somebody answers at.
    pub(super) greetings: Vec<Probe>,
}

/// A node that saw this machine before the change.
pub(super) struct Witness {
    connector: Arc<dyn Connector>,
    session: Box<dyn Session>,
    seen: Vec<Probe>,
}

impl SeenBy {
    /// The first who sees any of it.
    pub(super) fn find(&self, limits: &Limits, progress: &dyn Fn(Stage)) -> Option<Witness> {
        if self.greetings.is_empty() {
            return None;
        }
        self.peers.iter().find_map(|connector| {
            let session = connector.session(progress).ok()?;
            let (seen, _) = reach(session.as_ref(), &self.greetings, limits, progress).ok()?;
            let witness = Witness {
                connector: Arc::clone(connector),
                session,
                seen,
            };
            if witness.seen.is_empty() {
                witness.dismiss();
                return None;
            }
            Some(witness)
        })
    }
}

impl Witness {
    pub(super) fn check(
        &mut self,
        limits: &Limits,
        progress: &dyn Fn(Stage),
    ) -> Result<(), String> {
        let name = self.connector.name();
        match reach(self.session.as_ref(), &self.seen, limits, progress) {
            Ok((_, failed)) if failed.is_empty() => Ok(()),
            Ok((_, failed)) => Err(format!(
                "{name} reached this before and does not any more: {}",
                failed.join(", ")
            )),
            Err(trouble) => Err(format!(
                "{name}, which should see it, cannot be asked: {trouble}"
            )),
        }
    }

    /// It may be asked other things.
    pub(super) fn dismiss(self) {
        self.connector.keep(self.session);
    }
}
