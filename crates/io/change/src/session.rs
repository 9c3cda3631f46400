//! What a session answers for: the change that it began is rolled back when it ends, unless it was confirmed.

use std::{
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use crosstie_model::change::TransactionState;

use super::{
    CHANGES_FOLDER, journal, lock,
    node_system::{self, NodeSystem},
};

/// For others to be done with the journals.
const LOCK_TIMEOUT: Duration = Duration::from_secs(1);

pub(super) const INTERRUPTED_REASON: &str = "its controller was interrupted";

/// The transaction that a session began, confirms or rolls back. It may have ended since, by this session or another.
#[derive(Debug, Clone, Default)]
pub struct SessionTransaction(Arc<Mutex<Own>>);

#[derive(Debug, Default)]
struct Own {
    transaction: Option<String>,
    interrupted: bool,
}

impl SessionTransaction {
    pub(super) fn set(&self, transaction: &str) {
        self.own().transaction = Some(transaction.to_owned());
    }

    /// A signal has ended the controller: whatever is rolled back now is so for that reason.
    pub fn set_interrupted(&self) {
        self.own().interrupted = true;
    }

    pub(super) fn is_interrupted(&self) -> bool {
        self.own().interrupted
    }

    fn take(&self) -> Option<String> {
        self.own().transaction.take()
    }

    fn own(&self) -> MutexGuard<'_, Own> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Held by a session.
#[derive(Debug, Default)]
pub struct RollbackOnSessionEnd {
    pub own: SessionTransaction,
}

/// A controller that leaves has changed its mind: what it began and did not confirm is rolled back now, not at the
/// deadline; so is what is being changed, or rolled back, at this moment; and what is left of the guard goes. There is
/// one guard on a node, so it is not started where it may be that of another process: by now the node may be another
/// controller's.
impl Drop for RollbackOnSessionEnd {
    fn drop(&mut self) {
        let state = Path::new(CHANGES_FOLDER);
        let Some(own) = self.own.take().filter(|_| state.exists()) else {
            return;
        };
        // As long as it is held, by this process or by a thread of it that is still at work, nobody else begins anything.
        let lock = lock::acquire(state, LOCK_TIMEOUT);
        let is_alone = matches!(lock, Ok(Some(_))) || lock::last_taken_by_us(state);
        if is_guard_of(state, &own, is_alone) {
            // A thread that is still at work on it has the lock, and says so itself.
            if self.own.is_interrupted() && matches!(lock, Ok(Some(_))) {
                note_interruption(state, &own);
            }
            node_system::start_guard();
        }
        drop(lock);
    }
}

/// For whoever rolls it back, and for `status`. Where it cannot be written, the rollback goes on without.
fn note_interruption(state: &Path, own: &str) {
    let found = journal::StoredTransaction::all(state).unwrap_or_default();
    let open = found.into_iter().filter(|one| one.journal.id == own);
    for mut open in open.filter(|one| one.progress.state.is_open()) {
        let when = match open.progress.state {
            TransactionState::Applied => "before it was confirmed",
            TransactionState::Prepared
            | TransactionState::Armed
            | TransactionState::Confirmed
            | TransactionState::RollingBack
            | TransactionState::RolledBack => "before it was done",
        };
        let _ = open.save_reason(
            &NodeSystem::default(),
            &format!("{INTERRUPTED_REASON} {when}"),
        );
    }
}

/// Whether the guard can only be that of the transaction `own`. One of a transaction that has ended only clears up.
pub(super) fn is_guard_of(state: &Path, own: &str, is_alone: bool) -> bool {
    let Ok(found) = journal::StoredTransaction::all(state) else {
        return false;
    };
    let open = found.iter().filter(|one| one.progress.state.is_open());
    let open: Vec<&str> = open.map(|one| one.journal.id.as_str()).collect();
    match open.as_slice() {
        [] => is_alone,
        open => open.iter().all(|id| *id == own),
    }
}
