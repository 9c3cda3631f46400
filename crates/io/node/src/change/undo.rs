//! The way back. Every part of it looks first, so that it can be cut off anywhere and begun again.

use std::{fs, path::Path};

use crosstie_model::{
    Step,
    change::{Kind, RolledBack, State},
};

use super::{
    files::{self, Without},
    image::{self, Found, Image},
    journal::Transaction,
    store,
    system::System,
    trial,
};

/// When the way back is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moment {
    /// Managers run and must be told.
    Running,
    /// Before any of them has started.
    EarlyBoot,
}

/// Files that somebody has written to since the change.
pub(super) fn edited(system: &dyn System, transaction: &Transaction) -> Vec<String> {
    let images = transaction.journal.images.iter();
    let edited = images.filter(|image| {
        let found = image.now(system).ok().flatten();
        !image.is_as_left(found.as_ref())
            && !image.is_as_before(found.as_ref())
            && found.is_none_or(|found| {
                files::undo_block(&transaction.journal.steps, &image.path, &found.bytes).is_none()
            })
    });
    edited.map(|image| image.path.clone()).collect()
}

/// Goes back. The caller holds the lock, and the guard is armed: whatever stops this, it is begun again.
pub(super) fn undo(
    system: &dyn System,
    transaction: &mut Transaction,
    moment: Moment,
    why: &str,
) -> Result<RolledBack, String> {
    transaction.enter(system, State::RollingBack, Some(why))?;
    let mut outcome = RolledBack {
        transactions: vec![transaction.journal.id.clone()],
        ..RolledBack::default()
    };
    restore_files(system, transaction, &mut outcome)?;
    remove_new_files(system, transaction, &mut outcome)?;
    remove_folders(system, transaction);
    match moment {
        Moment::EarlyBoot => system.render_at_boot()?,
        Moment::Running => restore_runtime(system, transaction, &mut outcome)?,
    }
    transaction.enter(system, State::RolledBack, None)?;
    Ok(outcome)
}

fn restore_files(
    system: &dyn System,
    transaction: &Transaction,
    outcome: &mut RolledBack,
) -> Result<(), String> {
    let journal = &transaction.journal;
    for (index, image) in journal.images.iter().enumerate() {
        let told = |error: std::io::Error| format!("{}: {error}", image.path);
        let found = image.now(system).map_err(told)?;
        if image.is_as_before(found.as_ref()) {
            let half_made = store::half_made(&system.path(&image.path));
            store::remove(&half_made).map_err(told)?;
            continue;
        }
        let others = found.filter(|found| !image.is_as_left(Some(found)));
        if let Some(found) = others {
            if let Some(back) = files::undo_block(&journal.steps, &image.path, &found.bytes) {
                put_text(system, image, &found, back).map_err(told)?;
                continue;
            }
            let kept = keep(system, transaction, index, &found).map_err(told)?;
            let line = format!("{} → {kept}", image.path);
            outcome.kept.push(line);
        }
        let bytes = transaction.folder.join(Image::file(index));
        image.restore(system, &bytes).map_err(told)?;
        system.edge("a file is put back");
    }
    Ok(())
}

/// What others wrote beside our block stays.
fn put_text(
    system: &dyn System,
    image: &Image,
    found: &Found,
    text: Without,
) -> std::io::Result<()> {
    let path = system.path(&image.path);
    match text {
        Without::Text(text) => store::write_as(system, &path, &text, found.mode(), |file| {
            found.put_on(file)
        }),
        Without::NoFile => store::remove(&path).map(drop),
    }
}

/// Somebody's edit is put beside the journal before it is overwritten.
fn keep(
    system: &dyn System,
    transaction: &Transaction,
    index: usize,
    found: &Found,
) -> std::io::Result<String> {
    let sum = found.sum();
    let path = transaction
        .folder
        .join(format!("kept-{index}-{}", sum.get(..8).unwrap_or_default()));
    if !path.exists() {
        store::write(system, &path, &found.bytes, 0o600)?;
    }
    Ok(path.display().to_string())
}

/// What a trial has left in folders that were watched.
fn remove_new_files(
    system: &dyn System,
    transaction: &Transaction,
    outcome: &mut RolledBack,
) -> Result<(), String> {
    let journal = &transaction.journal;
    for path in journal
        .watched
        .iter()
        .flat_map(|folder| trial::files_in(system, folder))
    {
        if journal.images.iter().any(|image| image.path == path) {
            continue;
        }
        let told = |error: std::io::Error| format!("{path}: {error}");
        let Some(found) = image::look(&system.path(&path)).map_err(told)? else {
            continue;
        };
        let kept = keep(system, transaction, usize::MAX, &found).map_err(told)?;
        outcome.kept.push(format!("{path} → {kept}"));
        store::remove(&system.path(&path)).map_err(told)?;
    }
    Ok(())
}

/// Folders of ours that are empty again, innermost first. One that somebody uses stays.
fn remove_folders(system: &dyn System, transaction: &Transaction) {
    for folder in transaction.journal.folders.iter().rev() {
        let _ = fs::remove_dir(system.path(folder));
    }
}

fn restore_runtime(
    system: &dyn System,
    transaction: &Transaction,
    outcome: &mut RolledBack,
) -> Result<(), String> {
    let journal = &transaction.journal;
    let mut problems = Vec::new();
    for step in journal.steps.iter().rev() {
        match step {
            Step::Configure(_) | Step::Unit { .. } => {}
            Step::Packages { names, .. } => {
                let names = names.join(", ");
                outcome
                    .left
                    .push(format!("the packages {names} stay installed"));
            }
            Step::Module { name, .. } => {
                if let Err(why) = system.set(&step.undo()) {
                    outcome
                        .left
                        .push(format!("the module {name} stays loaded: {why}"));
                }
            }
            step => problems.extend(system.set(&step.undo()).err()),
        }
        system.edge("a runtime value is put back");
    }
    let mut rereads = journal.rereads();
    rereads.reverse();
    for reread in &mut rereads {
        reread.turn();
    }
    let read = match journal.kind {
        Kind::Apply => system.reread(&rereads),
        Kind::Try => system.reread_all(),
    };
    problems.extend(read.err());
    system.edge("the managers have read the old files");
    problems.extend(system.put_back(&journal.before).err());
    if problems.is_empty() {
        Ok(())
    } else {
        Err(problems.join("; "))
    }
}

/// What a transaction in the state `state` has left in its folder, for whoever lists it.
pub(super) fn sweep(state: &Path, keep: Option<&str>) -> Result<(), String> {
    for transaction in Transaction::all(state)? {
        if transaction.progress.state == State::RolledBack
            && keep != Some(transaction.journal.id.as_str())
            && !has_kept(&transaction)
        {
            let id = &transaction.journal.id;
            transaction
                .forget()
                .map_err(|error| format!("{id}: {error}"))?;
        }
    }
    Ok(())
}

/// Somebody's edit is never swept away.
fn has_kept(transaction: &Transaction) -> bool {
    let entries = fs::read_dir(&transaction.folder).into_iter().flatten();
    let mut names = entries.flatten().map(|entry| entry.file_name());
    names.any(|name| name.to_string_lossy().starts_with("kept-"))
}
