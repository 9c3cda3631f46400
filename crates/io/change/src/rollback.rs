//! The rollback. Every part of it looks first, so that it can be cut off anywhere and begun again.

use std::{collections::BTreeSet, fs, io, path::Path, time::Duration};

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
    journal::{RuntimeSnapshot, StoredTransaction},
    system_access::SystemAccess,
    trial::is_resolver_output,
};
use crosstie_node::child_processes::is_stopped;

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
    // Nothing waits for the disk: whoever is cut off from the node is so by its network.
    let _ = transaction.save_rollback_state(system, TransactionState::RollingBack, Some(why));
    let network = network_to_restore(system, transaction, &mut outcome);
    if moment == RollbackMoment::Running {
        // What fails here is tried again, and told, when the managers have read their files.
        let _ = system.restore_runtime(&network);
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
            let rendered = system.render_at_boot();
            rendered
                .err()
                .map(RollbackObstacle::Reread)
                .into_iter()
                .collect()
        }
        RollbackMoment::Running => restore_runtime(system, transaction, &network, &mut outcome),
    });
    if is_stopped() {
        // Its programs were ended with its session: what they were for is not done, and is the guard's now.
        outcome
            .left
            .push("it was cut off, and its guard goes on".to_owned());
        return outcome;
    }
    let has_network = |obstacle: &RollbackObstacle| obstacle.is_of_network();
    if obstacles.iter().any(has_network) {
        let (left, unread) = system.full_runtime_snapshot();
        // What cannot be read cannot be told from what others do from now on.
        if unread.is_empty()
            && let Err(error) = transaction.save_unrestored_network(system, &network, &left)
        {
            tracing::warn!("no other try will be made of the network: {error}");
        }
    }
    save_leftovers(system, transaction, outcome, &obstacles)
}

/// Of a trial that was kept, what it did alone: others have changed the network since.
fn network_to_restore(
    system: &dyn SystemAccess,
    transaction: &StoredTransaction,
    outcome: &mut RollbackReport,
) -> RuntimeSnapshot {
    let before = &transaction.journal.before;
    if transaction.progress.changed_by_trial.is_none() {
        return before.clone();
    }
    let after = match transaction.network_after() {
        Ok(Some(after)) => after,
        Ok(None) => return before.clone(),
        Err(error) => {
            let why = told(&error);
            let line = format!("the network stays as it is: what the command did to it: {why}");
            outcome.left.push(line);
            return RuntimeSnapshot::default();
        }
    };
    let (now, _) = system.full_runtime_snapshot();
    let (wanted, others) = now.without_change(before, &after);
    outcome.left.extend(others);
    wanted
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
    save_leftovers(system, transaction, outcome, &[])
}

/// Writes down what is left.
fn save_leftovers(
    system: &dyn SystemAccess,
    transaction: &mut StoredTransaction,
    mut outcome: RollbackReport,
    obstacles: &[RollbackObstacle],
) -> RollbackReport {
    let progress = &mut transaction.progress;
    progress.left.clone_from(&outcome.left);
    progress.unrestored.clear();
    progress.unrestored_network.clear();
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
    let network = retry_network(system, transaction);
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
        let read = system.reread_all();
        obstacles.extend(read.err().map(RollbackObstacle::Reread));
    }
    outcome.left.clone_from(&network);
    let mut outcome = save_leftovers(system, transaction, outcome, &obstacles);
    let progress = &mut transaction.progress;
    progress.left.retain(|line| !network.contains(line));
    progress.unrestored_network = network;
    let saved = transaction.save_rollback_state(system, TransactionState::RolledBack, None);
    outcome.left.extend(saved.err().map(|error| told(&error)));
    Some(outcome)
}

/// What is still left of it. Only what the rollback left and nobody has touched since is tried.
fn retry_network(system: &dyn SystemAccess, transaction: &StoredTransaction) -> Vec<String> {
    let before = &transaction.progress.unrestored_network;
    if before.is_empty() {
        return Vec::new();
    }
    match transaction.unrestored_network() {
        // It was made anew with a boot.
        Ok(Some((_, left))) if !left.is_of_boot(&system.boot()) => Vec::new(),
        Ok(Some((wanted, left))) => {
            let (now, _) = system.full_runtime_snapshot();
            let (target, mut others) = now.without_change(&wanted, &left);
            let obstacles = system.restore_runtime(&target);
            others.extend(obstacles.iter().map(|obstacle| told(obstacle)));
            others
        }
        // It was not known what it left.
        Ok(None) | Err(_) => before.clone(),
    }
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

/// What is not ours is kept.
fn restore_file(
    system: &dyn SystemAccess,
    transaction: &StoredTransaction,
    (index, image): (usize, &FileImage),
    is_ours: impl Fn(&CurrentFile) -> bool,
    outcome: &mut RollbackReport,
) -> std::io::Result<()> {
    let journal = &transaction.journal;
    let found = image.now(system)?;
    if image.matches_original(found.as_ref()) {
        let half_made = durable::temporary_name(&system.path(&image.path));
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
        && left.matches(file_image::read_current(&place)?.as_ref())
    {
        return durable::remove_synced(system, &place).map(drop);
    }
    // Moved, not copied: the disk may be full of it.
    let label = file_image::sum(path.as_bytes());
    let kept = format!("kept-new-{}", label.get(..8).unwrap_or_default());
    let kept = transaction.folder.join(kept);
    match durable::rename_synced(system, &place, &kept) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
            if let Some(found) = file_image::read_current(&place)? {
                durable::write(system, &kept, &found.content(), 0o600)?;
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

/// Folders of ours that are empty again, innermost first. One that somebody uses stays.
fn remove_folders(system: &dyn SystemAccess, transaction: &StoredTransaction) {
    for folder in transaction.journal.folders.iter().rev() {
        let _ = fs::remove_dir(system.path(folder));
    }
}

fn restore_runtime(
    system: &dyn SystemAccess,
    transaction: &StoredTransaction,
    network: &RuntimeSnapshot,
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
    obstacles.extend(read.err().map(RollbackObstacle::Reread));
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
