//! What a session answers for: the change that it began is rolled back when it ends, unless it was confirmed.

use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use super::{STATE, journal, lock, machine};

/// For others to be done with the journals.
const LOCK_TIMEOUT: Duration = Duration::from_secs(1);

/// The transaction that a session began, confirms or rolls back. It may have ended since, by this session or another.
#[derive(Debug, Clone, Default)]
pub struct OwnTransaction(Arc<Mutex<Option<String>>>);

impl OwnTransaction {
    pub(super) fn set(&self, transaction: &str) {
        let mut own = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *own = Some(transaction.to_owned());
    }

    fn take(&self) -> Option<String> {
        let mut own = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        own.take()
    }
}

/// Held by a session.
#[derive(Debug, Default)]
pub struct SessionChange {
    pub own: OwnTransaction,
}

/// A controller that leaves has changed its mind: what it began and did not confirm is rolled back now, not at the
/// deadline; so is what is being changed, or rolled back, at this moment; and what is left of the guard goes. There is
/// one guard on a node, so it is not started where it may be that of another process: by now the node may be another
/// controller's.
impl Drop for SessionChange {
    fn drop(&mut self) {
        let state = Path::new(STATE);
        let Some(own) = self.own.take().filter(|_| state.exists()) else {
            return;
        };
        // As long as it is held, by this process or by a thread of it that is still at work, nobody else begins anything.
        let lock = lock::take(state, LOCK_TIMEOUT);
        let is_alone = matches!(lock, Ok(Some(_))) || lock::was_ours(state);
        if guard_is_own(state, &own, is_alone) {
            machine::start_guard();
        }
        drop(lock);
    }
}

/// Whether the guard can only be that of the transaction `own`. One of a transaction that has ended only clears up.
pub(super) fn guard_is_own(state: &Path, own: &str, is_alone: bool) -> bool {
    let Ok(found) = journal::Transaction::all(state) else {
        return false;
    };
    let open = found.iter().filter(|one| one.progress.state.is_open());
    let open: Vec<&str> = open.map(|one| one.journal.id.as_str()).collect();
    match open.as_slice() {
        [] => is_alone,
        open => open.iter().all(|id| *id == own),
    }
}
