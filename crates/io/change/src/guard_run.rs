//! The guard's own work, by the program beside the journal.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use crosstie_model::change::{RollbackReport, TransactionState};

use super::{
    boot_notes,
    error::{ChangeJournalError, GuardRunError, GuardSetupError, told},
    journal::StoredTransaction,
    lock::{self, ChangeLock},
    rollback::{self, RollbackMoment},
    system_access::SystemAccess,
};

/// A change that runs gets this long to end by itself once its time is up.
const RUNNING_CHANGE_TIMEOUT: Duration = Duration::from_secs(20);
/// How soon a guard that waits for the lock sees that its change has ended. Until then systemd takes a start of the next
/// change's guard for one of this.
const LOCK_WAIT_INTERVAL: Duration = Duration::from_secs(1);

/// `Ok(None)`: there was nothing to roll back.
pub(super) fn run_guard(
    system: &dyn SystemAccess,
    state: &Path,
    id: &str,
    moment: RollbackMoment,
) -> Result<Option<RollbackReport>, GuardRunError> {
    let Some(lock) = lock_while_open(state, id)? else {
        return Ok(None);
    };
    let folder = state.join(id);
    // It was swept away, or set aside since it is damaged.
    if !StoredTransaction::is_in(&folder) {
        disarm_own(system, id)?;
        return Ok(None);
    }
    let mut transaction = match StoredTransaction::open(&folder) {
        Ok(found) => found,
        // Another look would find the same: `uninstall --force` sets it aside, and with it this guard.
        Err(error) if error.is_damage() && moment == RollbackMoment::Running => {
            return Ok(Some(RollbackReport {
                left: vec![told(&error)],
                ..RollbackReport::default()
            }));
        }
        Err(error) => return Err(error.into()),
    };
    let mut outcome = if transaction.progress.state.is_open() {
        let why = transaction.progress.why.clone();
        let why = why.unwrap_or_else(|| reason(system, &transaction, moment));
        Some(rollback::roll_back(system, &mut transaction, moment, &why))
    } else {
        None
    };
    if transaction.progress.state.is_open() {
        // Its units stay, and the next boot does it once more: it may have a disk that can be written.
        if moment == RollbackMoment::Running && boot_notes::end(system, id).is_some() {
            return Ok(outcome);
        }
        // The guard is started again, and every boot does so.
        let left = outcome.map(|outcome| outcome.left).unwrap_or_default();
        return Err(GuardRunError::Unfinished { left });
    }
    match disarm_own(system, id) {
        // What the disk keeps of its units finds nothing to do at the next boot.
        Err(error) if error.is_disk_error() && moment == RollbackMoment::Running => {
            if let Some(outcome) = &mut outcome {
                outcome.left.push(told(&error));
            }
        }
        disarmed => disarmed?,
    }
    drop(lock);
    Ok(outcome)
}

/// The lock, from whoever hangs as well. `None`: the change has ended meanwhile, and whoever has the lock may be at work on
/// another by now.
fn lock_while_open(state: &Path, id: &str) -> Result<Option<ChangeLock>, GuardRunError> {
    let folder = state.join(id);
    let mut until = Instant::now() + RUNNING_CHANGE_TIMEOUT;
    loop {
        let taken = lock::acquire(state, LOCK_WAIT_INTERVAL);
        let taken = taken.map_err(|source| GuardRunError::Lock {
            path: state.display().to_string(),
            source,
        })?;
        if taken.is_some() {
            return Ok(taken);
        }
        if !is_open(&folder)? {
            return Ok(None);
        }
        if Instant::now() >= until {
            lock::kill_holder(state);
            until = Instant::now() + RUNNING_CHANGE_TIMEOUT;
        }
    }
}

fn is_open(folder: &Path) -> Result<bool, ChangeJournalError> {
    match StoredTransaction::open(folder) {
        Ok(found) => Ok(found.progress.state.is_open()),
        Err(_) if !StoredTransaction::is_in(folder) => Ok(false),
        Err(error) => Err(error),
    }
}

/// There is one guard on a node, and by now it may be another change's.
fn disarm_own(system: &dyn SystemAccess, id: &str) -> Result<(), GuardSetupError> {
    if system.guarded().is_some_and(|guarded| guarded != id) {
        return Ok(());
    }
    system.disarm()
}

fn reason(
    system: &dyn SystemAccess,
    transaction: &StoredTransaction,
    moment: RollbackMoment,
) -> String {
    let state = transaction.progress.state;
    match (moment, transaction.seconds_left(system)) {
        (RollbackMoment::EarlyBoot, _) => {
            "the node was started anew before it was confirmed".to_owned()
        }
        (RollbackMoment::Running, Some(0)) => format!(
            "it was not confirmed within {} s",
            transaction.journal.guard_seconds
        ),
        (RollbackMoment::Running, _) if state == TransactionState::Applied => {
            "its controller left before it was confirmed".to_owned()
        }
        (RollbackMoment::Running, _) => {
            // What fails by itself says so in the journal before it is rolled back.
            "it was cut off before it was done".to_owned()
        }
    }
}
