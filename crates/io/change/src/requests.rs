//! How a change ends: kept, or rolled back; and what is known of it afterwards.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use crosstie_durable::remove_tree;
use crosstie_model::change::{
    ChangeError, ChangeReply, Drift, NodeChangeStatus, RollbackReport, StillInForce,
    TransactionKind, TransactionState, TransactionStatus,
};

use super::{
    boot_notes, boot_program,
    drift::{drift, drift_records},
    error::{ChangeJournalError, GuardSetupError, told},
    journal::StoredTransaction,
    lock,
    rollback::{self, RollbackMoment},
    system_access::SystemAccess,
    transaction::{all, lock as lock_now, settle_interrupted, unreadable_folders},
    trial,
};
use crosstie_node::child_processes::is_stopped;

/// A rollback that a person asked for is the guard's after this long: it ends by itself, or was cut off.
const ROLLBACK_GUARD_DELAY: Duration = Duration::from_secs(180);
const MAX_REASON_CHARACTERS: usize = 500;

pub(super) fn confirm(
    system: &dyn SystemAccess,
    state: &Path,
    id: &str,
) -> Result<ChangeReply, ChangeError> {
    let _lock = lock_now(state)?;
    let found = all(state)?.into_iter().find(|found| found.journal.id == id);
    let not_open = |state: &str| ChangeError::NotOpen {
        transaction: id.to_owned(),
        state: state.to_owned(),
    };
    let mut transaction = found.ok_or_else(|| not_open("never begun, or swept away"))?;
    if has_unwritten_end(system, &transaction) {
        return Err(not_open("rolled back, which its disk did not take"));
    }
    match transaction.progress.state {
        TransactionState::Confirmed => return Ok(ChangeReply::Confirmed),
        TransactionState::Applied => {}
        TransactionState::RolledBack | TransactionState::RollingBack => {
            let why = transaction.progress.why.as_deref().unwrap_or("");
            return Err(not_open(&format!("rolled back ({why})")));
        }
        TransactionState::Prepared | TransactionState::Armed => {
            return Err(not_open("cut off before it was done"));
        }
    }
    // Whoever has the lock decides; a guard that is late by a moment finds it confirmed.
    if transaction
        .seconds_left(system)
        .is_none_or(|left| left == 0)
    {
        return Err(not_open("too late: the guard's time is up"));
    }
    if transaction.journal.kind == TransactionKind::Try {
        let changed = trial::changes(system, &transaction.journal);
        transaction.progress.changed_by_trial = Some(changed);
        let (after, unread) = system.full_runtime_snapshot();
        for what in unread {
            tracing::warn!("a later rollback leaves it as it is then: {what}");
        }
        transaction
            .save_network_after(system, &after)
            .map_err(|error| ChangeError::NotConfirmed { why: told(&error) })?;
    }
    transaction
        .enter(system, TransactionState::Confirmed, None)
        .map_err(|error| ChangeError::NotConfirmed { why: told(&error) })?;
    // It is kept now, whatever becomes of the guard: that one only cleans up after itself.
    if let Err(error) = system.disarm() {
        tracing::warn!(
            "the guard could not be removed and does nothing: {}",
            told(&error)
        );
    }
    if transaction.journal.kind == TransactionKind::Try
        && let Err(error) = record_kept_drift(system, state, &mut transaction)
    {
        tracing::warn!(
            "what the command left cannot be told from drift: {}",
            told(&error)
        );
    }
    Ok(ChangeReply::Confirmed)
}

/// What a trial has left is what a person wants from now on.
fn record_kept_drift(
    system: &dyn SystemAccess,
    state: &Path,
    transaction: &mut StoredTransaction,
) -> Result<(), ChangeJournalError> {
    let before = &transaction.journal.drift;
    let mut kept = drift_records(system, &StoredTransaction::all(state)?);
    kept.retain(|record| !before.contains(record));
    if kept.is_empty() {
        return Ok(());
    }
    transaction.progress.kept_by_trial = kept;
    transaction.enter(system, TransactionState::Confirmed, None)
}

/// How it is to be rolled back.
#[derive(Debug, Clone, Copy)]
pub(super) struct RollbackRequest<'a> {
    pub(super) only: Option<&'a [String]>,
    pub(super) force: bool,
    pub(super) why: Option<&'a str>,
}

/// `2026-11-15T10:00:00Z` is shown without its seconds.
fn rollback_command_reason(system: &dyn SystemAccess, verb: &str) -> String {
    let now = system.now();
    let minute = now.get(..16).unwrap_or(&now).replace('T', " ");
    format!("by `crosstie {verb}` at {minute} UTC")
}

/// It is kept in a small file.
pub(super) fn shortened_reason(why: &str) -> String {
    why.chars().take(MAX_REASON_CHARACTERS).collect()
}

/// The newest one that is open or in force, or the one that is named and everything after it. Where that is more than
/// `only`, somebody has begun another since, and nothing is rolled back.
pub(super) fn rollback(
    system: &dyn SystemAccess,
    state: &Path,
    named: Option<&str>,
    asked: RollbackRequest<'_>,
) -> Result<ChangeReply, ChangeError> {
    let _lock = lock_now(state)?;
    // Nobody who has seen what is in force has seen these, or asks for them.
    let unwritten = all(state)?.into_iter().rev();
    for mut transaction in unwritten.filter(|found| has_unwritten_end(system, found)) {
        rollback_next(system, &mut transaction, false, "it was cut off")?;
    }
    let live: Vec<StoredTransaction> = all(state)?
        .into_iter()
        .filter(|found| found.progress.state != TransactionState::RolledBack)
        .collect();
    if live.is_empty()
        && let Some(lost) = without_journal(system, state)
    {
        return Err(ChangeError::Journal {
            what: format!("the journal of change {lost} was deleted"),
            why: "nothing can roll it back; `crosstie uninstall` removes its guard".to_owned(),
        });
    }
    let first = match named {
        None => live.len().saturating_sub(1),
        Some(id) => match live.iter().position(|found| found.journal.id == id) {
            Some(index) => index,
            None => return Ok(ChangeReply::Nothing),
        },
    };
    let chosen: Vec<StoredTransaction> = live.into_iter().skip(first).rev().collect();
    let is_newer = |id: &String| asked.only.is_some_and(|only| !only.contains(id));
    let mut ids = chosen.iter().map(|found| &found.journal.id);
    if let Some(transaction) = ids.find(|id| is_newer(id)).cloned() {
        return Err(ChangeError::Newer { transaction });
    }
    let by_person = || rollback_command_reason(system, "rollback");
    let why = asked.why.map_or_else(by_person, shortened_reason);
    let outcome = rollback_all(system, chosen, asked.force, &why)?;
    if outcome.transactions.is_empty() {
        return Ok(ChangeReply::Nothing);
    }
    Ok(ChangeReply::RolledBack(outcome))
}

fn rollback_all(
    system: &dyn SystemAccess,
    newest_first: Vec<StoredTransaction>,
    force: bool,
    why: &str,
) -> Result<RollbackReport, ChangeError> {
    if !force {
        check_not_edited(system, &newest_first)?;
    }
    let mut outcome = RollbackReport::default();
    for mut transaction in newest_first {
        let id = transaction.journal.id.clone();
        let done = rollback_next(system, &mut transaction, force, why);
        // What was rolled back before it is told all the same.
        match done {
            Ok(done) => {
                outcome.transactions.extend(done.transactions);
                outcome.kept.extend(done.kept);
                outcome.left.extend(done.left);
            }
            Err(error) if outcome.transactions.is_empty() => return Err(error),
            Err(error) => {
                outcome.still_in_force = Some(StillInForce {
                    transaction: id,
                    why: error.to_string(),
                });
                break;
            }
        }
        // The guard of the one that was cut off goes on with that one alone, so no other is begun.
        if is_stopped() {
            break;
        }
    }
    Ok(outcome)
}

/// Refuses before anything is rolled back. A file that a newer change wrote over is looked at once that one is rolled back.
fn check_not_edited(
    system: &dyn SystemAccess,
    newest_first: &[StoredTransaction],
) -> Result<(), ChangeError> {
    let mut newer: BTreeSet<&str> = BTreeSet::new();
    let mut found: Vec<String> = Vec::new();
    for transaction in newest_first {
        if transaction.is_in_force() {
            let edited = rollback::edited_files(system, transaction).into_iter();
            found.extend(edited.filter(|path| !newer.contains(path.as_str())));
        }
        let images = transaction.journal.images.iter();
        let images = images.filter(|image| transaction.concerns(&image.path));
        newer.extend(images.map(|image| image.path.as_str()));
    }
    if found.is_empty() {
        return Ok(());
    }
    Err(ChangeError::Edited {
        files: found.join(", "),
    })
}

fn rollback_next(
    system: &dyn SystemAccess,
    transaction: &mut StoredTransaction,
    force: bool,
    why: &str,
) -> Result<RollbackReport, ChangeError> {
    if transaction.is_in_force() && !force {
        let edited = rollback::edited_files(system, transaction);
        if !edited.is_empty() {
            return Err(ChangeError::Edited {
                files: edited.join(", "),
            });
        }
    }
    let id = transaction.journal.id.clone();
    system.own(&id);
    let outcome =
        rollback_one(system, transaction, why).map_err(|error| ChangeError::NotRolledBack {
            transaction: id,
            why: told(&error),
        })?;
    ended(transaction, outcome)
}

/// Under a guard of its own, armed before anything says that it is on the way: a rollback which is cut off goes on.
pub(super) fn rollback_one(
    system: &dyn SystemAccess,
    transaction: &mut StoredTransaction,
    why: &str,
) -> Result<RollbackReport, GuardSetupError> {
    let end = boot_notes::end(system, &transaction.journal.id);
    let first = end.and_then(|end| end.why);
    let why = first.as_deref().unwrap_or(why);
    // Nothing but packages was touched until then, and no guard armed.
    if transaction.progress.state == TransactionState::Prepared {
        return Ok(rollback::end_unbegun(system, transaction, why));
    }
    // One that waits may be another change's, which could not be removed.
    let is_own = system.guarded().as_ref() == Some(&transaction.journal.id);
    if !is_own || system.is_guard_waiting() != Some(true) {
        // It knows the journal's format, or it would not have read it.
        let program = transaction.program();
        if !program.exists()
            && let Err(error) = system.store_program(&program)
        {
            tracing::warn!("{} cannot be written: {error}", program.display());
        }
        let armed = system.arm(
            &transaction.journal.id,
            &transaction.program(),
            ROLLBACK_GUARD_DELAY,
        );
        // A guard needs a disk that takes its units. What is open is rolled back without one: it is out of force that way, too.
        if let Err(error) = armed
            && !transaction.progress.state.is_open()
            && !error.is_disk_error()
        {
            let _ = system.disarm();
            return Err(error);
        }
    }
    let mut outcome = rollback::roll_back(system, transaction, RollbackMoment::Running, why);
    // Whoever was cut off leaves the guard to finish, and to remove itself; so does who cannot write that it is done.
    if !is_stopped() && !transaction.progress.state.is_open() {
        disarm(system, &mut outcome);
    }
    Ok(outcome)
}

/// Where the disk does not take its end, a rollback has none: with the next boot it is begun again.
pub(super) fn ended(
    transaction: &StoredTransaction,
    outcome: RollbackReport,
) -> Result<RollbackReport, ChangeError> {
    if transaction.progress.state != TransactionState::RolledBack && !is_stopped() {
        return Err(ChangeError::UnfinishedRollback {
            transaction: transaction.journal.id.clone(),
            left: outcome.left,
        });
    }
    Ok(outcome)
}

/// It was rolled back, and its journal does not say so.
pub(super) fn has_unwritten_end(
    system: &dyn SystemAccess,
    transaction: &StoredTransaction,
) -> bool {
    let is_written = transaction.progress.state == TransactionState::RolledBack;
    !is_written && boot_notes::end(system, &transaction.journal.id).is_some()
}

/// Whether it is gone. A guard that stays finds nothing to do.
fn disarm(system: &dyn SystemAccess, outcome: &mut RollbackReport) -> bool {
    let disarmed = system.disarm();
    let is_gone = disarmed.is_ok();
    outcome
        .left
        .extend(disarmed.err().map(|error| told(&error)));
    is_gone
}

/// Everything as it was before the first, and nothing left; but a journal that holds the only copy of something stays.
pub(super) fn uninstall(
    system: &dyn SystemAccess,
    state: &Path,
    force: bool,
) -> Result<ChangeReply, ChangeError> {
    let lock = lock_now(state)?;
    let lost = without_journal(system, state);
    if force {
        let is_any =
            StoredTransaction::set_damaged_aside(state).map_err(|error| ChangeError::Journal {
                what: "a damaged journal cannot be set aside".to_owned(),
                why: told(&error),
            })?;
        // The guard that waits may be that one's, and would do nothing.
        if is_any {
            system
                .disarm()
                .map_err(|error| ChangeError::GuardStays { why: told(&error) })?;
        }
    }
    let unreadable = unreadable_folders(state)?;
    let live = all(state)?.into_iter().rev();
    let live = live.filter(|found| found.progress.state != TransactionState::RolledBack);
    let why = rollback_command_reason(system, "uninstall");
    let mut outcome = rollback_all(system, live.collect(), force, &why)?;
    outcome.left.extend(lost.map(|id| {
        format!("the journal of change {id} was deleted: what the change did was not rolled back")
    }));
    outcome.left.extend(unreadable.iter().map(|folder| {
        format!(
            "{} has a journal that cannot be read: what it changed was not rolled back; before-* are the files as they were",
            folder.display()
        )
    }));
    // What is in force, or is being rolled back by its guard, needs its journal.
    if outcome.still_in_force.is_some() || is_stopped() {
        return Ok(ChangeReply::RolledBack(outcome));
    }
    let mut ended = match all(state) {
        Ok(ended) => ended,
        // What was rolled back is told all the same.
        Err(error) => {
            outcome.left.push(error.to_string());
            return Ok(ChangeReply::RolledBack(outcome));
        }
    };
    for transaction in ended.iter_mut().rev() {
        // Of an earlier rollback: it is told once more before nobody knows of it.
        if !outcome.transactions.contains(&transaction.journal.id) {
            outcome.left.extend(transaction.progress.left.clone());
        }
        if let Some(finished) = rollback::retry_leftovers(system, transaction) {
            outcome.kept.extend(finished.kept);
            outcome.left.extend(finished.left);
        }
    }
    let is_unguarded = disarm(system, &mut outcome);
    let holds_a_copy = |found: &StoredTransaction| {
        found.progress.may_be_restored() || rollback::has_kept_edits(found)
    };
    let needed = ended.into_iter().filter(holds_a_copy);
    let needed: Vec<PathBuf> = needed.map(|found| found.folder).collect();
    let kept: Vec<&PathBuf> = needed.iter().chain(&unreadable).collect();
    // The program that a guard's units start lies there, too: while they stay, as in a session that is being ended, it stays.
    if is_unguarded {
        for folder in &needed {
            StoredTransaction::remove_program(folder);
        }
        let home = system.path(super::HOME_FOLDER);
        let removed = if kept.is_empty() {
            remove_tree(&home).map(drop)
        } else {
            remove_all_but(&home, state, &kept)
        };
        if let Err(error) = removed {
            outcome.left.push(format!("{}: {error}", home.display()));
        }
    }
    outcome.left.extend(needed.iter().map(|folder| {
        format!(
            "{} has the only copy of what was edited or could not be restored; remove it when you do not need it",
            folder.display()
        )
    }));
    drop(lock);
    Ok(ChangeReply::RolledBack(outcome))
}

/// Everything below `home` but those journals.
fn remove_all_but(home: &Path, state: &Path, kept: &[&PathBuf]) -> io::Result<()> {
    remove_entries(home, |name| Some(name) == state.file_name())?;
    remove_entries(state, |name| {
        let mut folders = kept.iter().filter_map(|folder| folder.file_name());
        name == lock::FILE_NAME || folders.any(|folder| folder == name)
    })
}

fn remove_entries(folder: &Path, is_kept: impl Fn(&OsStr) -> bool) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if !is_kept(&entry.file_name()) {
            remove_tree(&entry.path())?;
        }
    }
    Ok(())
}

/// One that a guard is there for, and of which nobody knows what it did.
fn without_journal(system: &dyn SystemAccess, state: &Path) -> Option<String> {
    let guarded = system.guarded();
    guarded.filter(|id| !StoredTransaction::is_in(&state.join(id)))
}

/// Also settles what was cut off before a guard could. One that waits, or that works now, is left to it.
pub(super) fn status(
    system: &dyn SystemAccess,
    state: &Path,
) -> Result<NodeChangeStatus, ChangeError> {
    let lost = without_journal(system, state);
    let has_unwritten_ends = || -> Result<bool, ChangeError> {
        let found = all(state)?;
        Ok(found.iter().any(|found| has_unwritten_end(system, found)))
    };
    if state.exists()
        && lost.is_none()
        && let Ok(_lock) = lock_now(state)
        && !has_unwritten_ends()?
    {
        match settle_interrupted(system, state) {
            // What is left of a guard is no reason not to tell how things stand.
            Ok(())
            | Err(
                ChangeError::Open { .. }
                | ChangeError::GuardStays { .. }
                | ChangeError::UnfinishedRollback { .. },
            ) => {}
            Err(error) => return Err(error),
        }
    }
    let mut found = all(state)?;
    for unwritten in &mut found {
        if has_unwritten_end(system, unwritten)
            && let Some(end) = boot_notes::end(system, &unwritten.journal.id)
        {
            unwritten.progress = end;
        }
    }
    let transactions = found.iter().map(|found| TransactionStatus {
        id: found.journal.id.clone(),
        run: found.journal.run.clone(),
        kind: found.journal.kind,
        what: found.journal.what.clone(),
        state: found.progress.state,
        began: found.journal.began.clone(),
        seconds_left: found.seconds_left(system),
        why: found.progress.why.clone(),
    });
    let transactions = transactions.collect();
    let mut drift = drift(system, &found);
    if let Some(path) = boot_program::missing_program(system, &found) {
        drift.push(Drift {
            what: path.display().to_string(),
            wanted: "the program that the boot unit starts".to_owned(),
            found: "absent".to_owned(),
        });
    }
    let unreadable = unreadable_folders(state)?;
    drift.extend(lost.map(|id| Drift {
        what: format!("change {id}"),
        wanted: "its journal, which rolls it back".to_owned(),
        found: "deleted; `crosstie uninstall` removes its guard".to_owned(),
    }));
    drift.extend(unreadable.iter().map(|folder| Drift {
        what: folder.display().to_string(),
        wanted: "rolled back".to_owned(),
        found: "a journal that cannot be read; before-* are the files as they were".to_owned(),
    }));
    let unrestored = found.iter().flat_map(|found| &found.progress.unrestored);
    drift.extend(unrestored.map(|path| Drift {
        what: path.clone(),
        wanted: "as it was before the change that was rolled back".to_owned(),
        found: "not restored; `crosstie uninstall` tries again".to_owned(),
    }));
    let network = found
        .iter()
        .flat_map(|found| &found.progress.unrestored_network);
    drift.extend(network.map(|text| Drift {
        what: text.clone(),
        wanted: "as it was before the change that was rolled back".to_owned(),
        found: "not restored; `crosstie uninstall` tries again".to_owned(),
    }));
    let rolled_back = found
        .iter()
        .filter(|found| found.progress.state == TransactionState::RolledBack);
    let left = rolled_back.flat_map(|found| &found.progress.left);
    drift.extend(left.map(|text| Drift {
        what: text.clone(),
        wanted: "as it was before the change that was rolled back".to_owned(),
        found: "left when it was rolled back".to_owned(),
    }));
    Ok(NodeChangeStatus {
        transactions,
        drift,
    })
}
