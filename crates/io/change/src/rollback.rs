//! The rollback. Every part of it looks first, so that it can be cut off anywhere and begun again.

mod network;

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use crosstie_durable as durable;
use crosstie_model::{
    PlanStep,
    change::{RollbackReport, TransactionKind, TransactionState},
    plan::{ConfigReload, RuntimeRollback},
};

use super::{
    boot_program,
    error::{ChangeJournalError, RollbackObstacle, told},
    file_image::{self, CurrentFile, FileImage},
    files::{self, FileWithoutBlock},
    folder::FolderContents,
    journal::StoredTransaction,
    system_access::SystemAccess,
    trial::is_resolver_output,
};
use crosstie_node::{child_processes::is_stopped, network_state::NetworkState};

/// Of restoring files, where something stands in the way.
const MAX_TRIES: u32 = 3;
const RETRY_INTERVAL: Duration = Duration::from_secs(2);

/// When the guard is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RollbackMoment {
    /// Managers run and must be told.
    Running,
    /// Before any of them has started.
    EarlyBoot,
}

/// Files that somebody has written to since the change.
pub(super) fn edited_files(
    system: &dyn SystemAccess,
    transaction: &StoredTransaction,
) -> Vec<String> {
    let images = transaction.journal.images.iter();
    let edited = images.filter(|image| {
        let found = image.now(system).ok().flatten();
        !transaction.has_left(image, found.as_ref())
            && !image.matches_original(found.as_ref())
            && found.is_none_or(|found| {
                files::without_block(&transaction.journal.steps, &image.path, &found.bytes)
                    .is_none()
            })
    });
    let changed = transaction.progress.changed_by_trial.iter();
    let new = changed
        .flat_map(|changed| &changed.files)
        .filter(|(path, left)| {
            let mut images = transaction.journal.images.iter();
            let found = file_image::read_current(&system.path(path)).ok().flatten();
            images.all(|image| image.path != **path)
                && found.is_some()
                && !left.matches(found.as_ref())
        });
    let edited = edited.map(|image| image.path.clone());
    edited.chain(new.map(|(path, _)| path.clone())).collect()
}

/// Rolls back, and ends: what is in the way of one part is noted, and the rest goes on. The caller holds the lock, and the guard
/// is armed: whatever kills this, it is begun again.
pub(super) fn roll_back(
    system: &dyn SystemAccess,
    transaction: &mut StoredTransaction,
    moment: RollbackMoment,
    why: &str,
) -> RollbackReport {
    let mut outcome = RollbackReport {
        transactions: vec![transaction.journal.id.clone()],
        ..RollbackReport::default()
    };
    // What it did from now on would stay.
    if transaction.journal.kind == TransactionKind::Try
        && let Err(error) = system.end_trial_command(&transaction.journal.id)
    {
        let line = format!("its command may still be at work: {error}");
        outcome.left.push(line);
    }
    // Nothing waits for the disk: whoever is cut off from the node is so by its network.
    let _ = transaction.save_rollback_state(system, TransactionState::RollingBack, Some(why));
    let network = network::to_restore(system, transaction, &mut outcome);
    if moment == RollbackMoment::Running {
        // What fails here is tried again, and told, when the managers have read their files.
        let _ = system.restore_runtime(&network.wanted);
        system.edge("the network is what it was");
    }
    let mut obstacles = Vec::new();
    for tries_left in (0..MAX_TRIES).rev() {
        obstacles = restore_files(system, transaction, &mut outcome);
        if tries_left == 0 || !obstacles.iter().any(RollbackObstacle::may_pass) {
            break;
        }
        system.pause(RETRY_INTERVAL);
    }
    obstacles.extend(match moment {
        RollbackMoment::EarlyBoot => {
            outcome.left.extend(what_stays(&transaction.journal.steps));
            let failed = system.render_at_boot().into_iter();
            failed.map(RollbackObstacle::Reread).collect()
        }
        RollbackMoment::Running => {
            restore_runtime(system, transaction, &network.wanted, &mut outcome)
        }
    });
    if is_stopped() {
        // Its programs were ended with its session: what they were for is not done, and is the guard's now.
        outcome
            .left
            .push("it was cut off, and its guard goes on".to_owned());
        return outcome;
    }
    obstacles.extend(network.unread);
    let has_network = |obstacle: &RollbackObstacle| obstacle.is_of_network();
    if obstacles.iter().any(has_network) {
        network::save_for_retry(system, transaction, network.wanted, network.for_retry);
    }
    save_leftovers(system, transaction, outcome, &obstacles, Vec::new())
}

/// Whatever is undone besides.
fn what_stays(steps: &[PlanStep]) -> impl Iterator<Item = String> {
    steps.iter().rev().filter_map(|step| match step.rollback() {
        RuntimeRollback::Stays { what } => Some(what),
        RuntimeRollback::Files | RuntimeRollback::Undo | RuntimeRollback::UndoIfPossible { .. } => {
            None
        }
    })
}

/// Ends one that was cut off before anything but packages was touched.
pub(super) fn end_unbegun(
    system: &dyn SystemAccess,
    transaction: &mut StoredTransaction,
    why: &str,
) -> RollbackReport {
    let mut outcome = RollbackReport {
        transactions: vec![transaction.journal.id.clone()],
        ..RollbackReport::default()
    };
    let steps = transaction.journal.steps.iter();
    let facts = system.facts();
    for step in steps.filter(|step| step.is_before_guard() && step.is_done(&facts)) {
        if let RuntimeRollback::Stays { what } = step.rollback() {
            outcome.left.push(what);
        }
    }
    transaction
        .progress
        .why
        .get_or_insert_with(|| why.to_owned());
    save_leftovers(system, transaction, outcome, &[], Vec::new())
}

/// Writes down what is left, all of it at once: what a cut took of it would never be tried again.
fn save_leftovers(
    system: &dyn SystemAccess,
    transaction: &mut StoredTransaction,
    mut outcome: RollbackReport,
    obstacles: &[RollbackObstacle],
    network: Vec<String>,
) -> RollbackReport {
    let progress = &mut transaction.progress;
    progress.left.clone_from(&outcome.left);
    progress.unrestored.clear();
    outcome.left.extend(network.iter().cloned());
    progress.unrestored_network = network;
    for obstacle in obstacles {
        outcome.left.push(told(obstacle));
        match obstacle {
            RollbackObstacle::File { path, .. } => progress.unrestored.push(path.clone()),
            network if network.is_of_network() => {
                progress.unrestored_network.push(told(network));
            }
            other => progress.left.push(told(other)),
        }
    }
    if let Err(obstacle) =
        transaction.save_rollback_state(system, TransactionState::RolledBack, None)
    {
        outcome.left.push(told(&obstacle));
    }
    outcome
}

/// Tries again what an earlier rollback could not restore. `None`: there is nothing of the kind.
pub(super) fn retry_leftovers(
    system: &dyn SystemAccess,
    transaction: &mut StoredTransaction,
) -> Option<RollbackReport> {
    let progress = &transaction.progress;
    if progress.state != TransactionState::RolledBack || !progress.may_be_restored() {
        return None;
    }
    let wanted = progress.unrestored.clone();
    let mut outcome = RollbackReport {
        transactions: vec![transaction.journal.id.clone()],
        ..RollbackReport::default()
    };
    let network = network::retry(system, transaction, &mut outcome);
    let is_wanted = |path: &str| wanted.iter().any(|wanted| wanted == path);
    let mut obstacles = restore_folders(system, transaction, is_wanted, &mut outcome);
    let images = transaction.journal.images.iter().enumerate();
    for (index, image) in images.filter(|(_, image)| is_wanted(&image.path)) {
        let is_ours = |found: &CurrentFile| {
            let planned = image.after.as_ref();
            planned.is_some_and(|planned| planned.matches(Some(found)))
        };
        let done = restore_file(system, transaction, (index, image), is_ours, &mut outcome);
        if let Err(source) = done {
            let path = image.path.clone();
            obstacles.push(RollbackObstacle::File { path, source });
        }
    }
    obstacles.extend(remove_new_files(
        system,
        transaction,
        is_wanted,
        &mut outcome,
    ));
    remove_folders(system, transaction);
    if !wanted.is_empty() {
        let failed = system.reread_all().into_iter();
        obstacles.extend(failed.map(RollbackObstacle::Reread));
    }
    let outcome = save_leftovers(system, transaction, outcome, &obstacles, network);
    Some(outcome)
}

fn restore_folders(
    system: &dyn SystemAccess,
    transaction: &StoredTransaction,
    is_wanted: impl Fn(&str) -> bool,
    outcome: &mut RollbackReport,
) -> Vec<RollbackObstacle> {
    let mut obstacles = Vec::new();
    let tree = transaction.journal.tree.iter();
    for folder in tree.filter(|folder| is_wanted(&folder.path)) {
        // A file or a link in its place is in the way of everything below it.
        let freed = match fs::symlink_metadata(system.path(&folder.path)) {
            Ok(found) if !found.is_dir() => {
                remove_new_file(system, transaction, &folder.path, outcome)
            }
            _ => Ok(()),
        };
        if let Err(source) = freed.and_then(|()| folder.restore(system)) {
            let path = folder.path.clone();
            obstacles.push(RollbackObstacle::File { path, source });
        }
    }
    obstacles
}

/// Every file. New ones go first: they take room that the others may need.
fn restore_files(
    system: &dyn SystemAccess,
    transaction: &StoredTransaction,
    outcome: &mut RollbackReport,
) -> Vec<RollbackObstacle> {
    let changed: BTreeSet<&str> = transaction.concerned().collect();
    let is_needed = |folder: &str| {
        let is_above = |path: &&str| Path::new(path).starts_with(folder);
        transaction.concerns(folder)
            || (!system.path(folder).exists() && changed.iter().any(is_above))
    };
    let mut obstacles = restore_folders(system, transaction, is_needed, outcome);
    obstacles.extend(remove_new_files(system, transaction, |_| true, outcome));
    let is_booted_since = transaction.journal.boot != system.boot();
    let images = transaction.journal.images.iter().enumerate();
    let images = images.filter(|(_, image)| transaction.concerns(&image.path));
    let images = images.filter(|(_, image)| !is_booted_since || !is_resolver_output(&image.path));
    let (new, old): (Vec<_>, Vec<_>) = images.partition(|(_, image)| image.before.is_none());
    for (index, image) in new.into_iter().chain(old) {
        let is_ours = |found: &CurrentFile| transaction.has_left(image, Some(found));
        let done = restore_file(system, transaction, (index, image), is_ours, outcome);
        if let Err(source) = done {
            obstacles.push(RollbackObstacle::File {
                path: image.path.clone(),
                source,
            });
        }
    }
    if let Err(error) = boot_program::restore(system, transaction) {
        obstacles.push(RollbackObstacle::BootProgram(error));
    }
    remove_folders(system, transaction);
    obstacles
}

/// What is not ours is kept; so is what cannot be read, such as a folder or a file without end.
fn restore_file(
    system: &dyn SystemAccess,
    transaction: &StoredTransaction,
    (index, image): (usize, &FileImage),
    is_ours: impl Fn(&CurrentFile) -> bool,
    outcome: &mut RollbackReport,
) -> std::io::Result<()> {
    let journal = &transaction.journal;
    let place = system.path(&image.path);
    let found = match image.now(system) {
        Ok(found) => found,
        // The room that it takes may be all that there is, and is free once it is written over.
        Err(_) if transaction.has_left_anything(image) && is_plain_file(&place) => {
            image.restore(system, &transaction.folder.join(FileImage::file(index)))?;
            system.edge("a file is restored");
            return Ok(());
        }
        Err(_) => {
            set_aside(system, transaction, &image.path, outcome)?;
            None
        }
    };
    if image.matches_original(found.as_ref()) {
        let half_made = durable::temporary_name(&place);
        return durable::remove(&half_made).map(drop);
    }
    if let Some(found) = found.filter(|found| !is_ours(found)) {
        if let Some(back) = files::without_block(&journal.steps, &image.path, &found.bytes) {
            return write_without_block(system, image, &found, back);
        }
        let kept = keep_edit(system, transaction, index, &found)?;
        let line = format!("{} → {kept}", image.path);
        if !outcome.kept.contains(&line) {
            outcome.kept.push(line);
        }
    }
    let bytes = transaction.folder.join(FileImage::file(index));
    image.restore(system, &bytes)?;
    system.edge("a file is restored");
    Ok(())
}

fn is_plain_file(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_file())
}

/// What others wrote beside our block stays.
fn write_without_block(
    system: &dyn SystemAccess,
    image: &FileImage,
    found: &CurrentFile,
    text: FileWithoutBlock,
) -> std::io::Result<()> {
    let path = system.path(&image.path);
    match text {
        FileWithoutBlock::Text(text) => {
            durable::write_with_metadata(system, &path, &text, found.mode(), |file| {
                found.metadata.apply_to(file)
            })
        }
        FileWithoutBlock::NoFile => durable::remove_synced(system, &path).map(drop),
    }
}

/// Somebody's edit is put beside the journal before it is overwritten.
fn keep_edit(
    system: &dyn SystemAccess,
    transaction: &StoredTransaction,
    index: usize,
    found: &CurrentFile,
) -> std::io::Result<String> {
    let sum = found.sum();
    let path = transaction
        .folder
        .join(format!("kept-{index}-{}", sum.get(..8).unwrap_or_default()));
    if !path.exists() {
        durable::write(system, &path, &found.content(), 0o600)?;
    }
    Ok(path.display().to_string())
}

/// What a trial has left in folders that were watched.
fn remove_new_files(
    system: &dyn SystemAccess,
    transaction: &StoredTransaction,
    is_wanted: impl Fn(&str) -> bool,
    outcome: &mut RollbackReport,
) -> Vec<RollbackObstacle> {
    let journal = &transaction.journal;
    let images: BTreeSet<&str> = journal.images.iter().map(|image| &*image.path).collect();
    let tree: BTreeSet<&str> = journal.tree.iter().map(|folder| &*folder.path).collect();
    let mut obstacles = Vec::new();
    for root in &journal.watched {
        let below = FolderContents::of(system, root, usize::MAX);
        let mut removed = Vec::new();
        for path in below.files {
            let is_new = !images.contains(&*path) && transaction.concerns(&path);
            if !is_new || !is_wanted(&path) {
                continue;
            }
            match remove_new_file(system, transaction, &path, outcome) {
                Ok(()) => removed.push(path),
                Err(source) => obstacles.push(RollbackObstacle::File { path, source }),
            }
        }
        let is_new = |folder: &&String| {
            let held = |path: &String| Path::new(path).starts_with(folder);
            let is_wanted = is_wanted(folder) && transaction.concerns(folder);
            let is_wanted = is_wanted || removed.iter().any(held);
            is_wanted && !tree.contains(folder.as_str())
        };
        for folder in below.folders.iter().rev().filter(is_new) {
            // One that still holds something was told of with that.
            let _ = fs::remove_dir(system.path(folder));
        }
    }
    obstacles
}

fn remove_new_file(
    system: &dyn SystemAccess,
    transaction: &StoredTransaction,
    path: &str,
    outcome: &mut RollbackReport,
) -> std::io::Result<()> {
    let place = system.path(path);
    let changed = transaction.progress.changed_by_trial.as_ref();
    if let Some(left) = changed.and_then(|changed| changed.files.get(path))
        && let Ok(found) = file_image::read_current(&place)
        && left.matches(found.as_ref())
    {
        return durable::remove_synced(system, &place).map(drop);
    }
    set_aside(system, transaction, path, outcome)
}

/// Puts what is at a path beside the journal, whatever it is.
fn set_aside(
    system: &dyn SystemAccess,
    transaction: &StoredTransaction,
    path: &str,
    outcome: &mut RollbackReport,
) -> std::io::Result<()> {
    let place = system.path(path);
    let kept = free_name(transaction, path);
    // Moved, not copied: the disk may be full of it.
    match durable::rename_synced(system, &place, &kept) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
            match file_image::read_current(&place) {
                Ok(None) => return Ok(()),
                Ok(Some(found)) => durable::write(system, &kept, &found.content(), 0o600)?,
                Err(_) => file_image::copy(system, &place, &kept)?,
            }
            durable::remove_synced(system, &place)?;
        }
        Err(error) => return Err(error),
    }
    let line = format!("{path} → {}", kept.display());
    if !outcome.kept.contains(&line) {
        outcome.kept.push(line);
    }
    Ok(())
}

/// Of what was at a path. An earlier try may have kept something else of it.
fn free_name(transaction: &StoredTransaction, path: &str) -> PathBuf {
    let label = file_image::sum(path.as_bytes());
    let label = label.get(..8).unwrap_or_default();
    let mut kept = transaction.folder.join(format!("kept-new-{label}"));
    let mut number = 2;
    while fs::symlink_metadata(&kept).is_ok() {
        kept.set_file_name(format!("kept-new-{label}-{number}"));
        number += 1;
    }
    kept
}

/// Folders of ours that are empty again, innermost first. One that somebody uses stays.
fn remove_folders(system: &dyn SystemAccess, transaction: &StoredTransaction) {
    for folder in transaction.journal.folders.iter().rev() {
        let _ = fs::remove_dir(system.path(folder));
    }
}

fn restore_runtime(
    system: &dyn SystemAccess,
    transaction: &StoredTransaction,
    network: &NetworkState,
    outcome: &mut RollbackReport,
) -> Vec<RollbackObstacle> {
    let journal = &transaction.journal;
    let mut obstacles = Vec::new();
    for step in journal.steps.iter().rev() {
        match step.rollback() {
            RuntimeRollback::Files => {}
            RuntimeRollback::Stays { what } => outcome.left.push(what),
            RuntimeRollback::UndoIfPossible { stays } => {
                if let Err(error) = system.set(&step.undo()) {
                    outcome.left.push(format!("{stays}: {}", told(&error)));
                }
            }
            RuntimeRollback::Undo => {
                if let Err(source) = system.set(&step.undo()) {
                    let what = step.label();
                    obstacles.push(RollbackObstacle::Value { what, source });
                }
            }
        }
        system.edge("a runtime value is restored");
    }
    let rereads = journal.steps.iter().flat_map(PlanStep::rereads);
    let mut rereads: Vec<ConfigReload> = rereads.map(ConfigReload::undo).collect();
    rereads.reverse();
    let read = match journal.kind {
        TransactionKind::Apply => system.reread(&rereads),
        TransactionKind::Try => system.reread_all(),
    };
    obstacles.extend(read.into_iter().map(RollbackObstacle::Reread));
    system.edge("the managers have read the old files");
    obstacles.extend(system.restore_runtime(network));
    obstacles
}

/// What a transaction in the state `state` has left in its folder, for whoever lists it.
pub(super) fn remove_finished(state: &Path) -> Result<(), ChangeJournalError> {
    for transaction in StoredTransaction::all(state)? {
        if transaction.progress.state == TransactionState::RolledBack
            && !transaction.progress.has_left()
            && !has_kept_edits(&transaction)
        {
            transaction
                .forget()
                .map_err(ChangeJournalError::at(&transaction.folder))?;
        }
    }
    Ok(())
}

/// Somebody's edit is never swept away.
pub(super) fn has_kept_edits(transaction: &StoredTransaction) -> bool {
    let entries = fs::read_dir(&transaction.folder).into_iter().flatten();
    let mut names = entries.flatten().map(|entry| entry.file_name());
    names.any(|name| name.to_string_lossy().starts_with("kept-"))
}
