//! The program that the boot unit starts. It is a file of its own: the agents beside it come and go with every build.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crosstie_model::{Step, plan::FileChange};
use crosstie_plan::paths;

use super::{error::FileError, files, journal::Transaction, store, system::System};

/// The one that was there before, beside the journal.
const SAVED: &str = "boot-program";

/// Whether what the boot unit does is among the steps.
pub(super) fn is_needed(steps: &[Step]) -> bool {
    let written = |change: &FileChange| {
        let is_ours = matches!(change.path(), paths::BOOT | paths::BOOT_UNIT);
        is_ours && matches!(change, FileChange::Whole { text, .. } if text.to.is_some())
    };
    files::changes(steps).any(written)
        || steps
            .iter()
            .any(|step| step.enabled_unit() == Some(paths::BOOT_UNIT_NAME))
}

/// Keeps the one that is there in a journal that is being written; whether there was one.
pub(super) fn save(system: &dyn System, journal: &Path) -> io::Result<bool> {
    match fs::hard_link(system.path(paths::BINARY), journal.join(SAVED)) {
        Ok(()) => Ok(true),
        Err(error) if store::is_absent(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Durably, before the unit that starts it is enabled.
pub(super) fn install(system: &dyn System, transaction: &Transaction) -> Result<(), FileError> {
    let target = system.path(paths::BINARY);
    let told = |source| FileError::System {
        path: target.display().to_string(),
        source,
    };
    store::make_folder(store::folder(&target)).map_err(told)?;
    put(system, &transaction.program(), &target).map_err(told)?;
    system.edge("the boot unit's program is there");
    Ok(())
}

/// As it was before the change.
pub(super) fn restore(system: &dyn System, transaction: &Transaction) -> io::Result<()> {
    let target = system.path(paths::BINARY);
    match transaction.journal.boot_program {
        None => Ok(()),
        Some(true) => put(system, &transaction.folder.join(SAVED), &target),
        Some(false) => {
            store::remove(&store::half_made(&target))?;
            if store::remove(&target)? {
                store::sync(store::folder(&target))?;
            }
            // Somebody else's files keep it.
            let _ = fs::remove_dir(store::folder(&target));
            Ok(())
        }
    }
}

/// Whether it is missing, though a change in force rests on it.
pub(super) fn missing(system: &dyn System, transactions: &[Transaction]) -> Option<PathBuf> {
    let path = system.path(paths::BINARY);
    let mut in_force = transactions.iter().filter(|found| found.is_in_force());
    let needed = in_force.any(|found| found.journal.boot_program.is_some());
    (needed && !path.is_file()).then_some(path)
}

/// A link, so that it takes no room and is whole at once; a copy where that cannot be.
fn put(system: &dyn System, program: &Path, target: &Path) -> io::Result<()> {
    let half_made = store::half_made(target);
    store::remove(&half_made)?;
    if fs::hard_link(program, &half_made).is_err() {
        system.wrote(&half_made);
        fs::copy(program, &half_made)?;
        let copy = fs::File::open(&half_made)?;
        system.sync(&copy, &half_made)?;
    }
    system.rename(&half_made, target)?;
    // Where both were links to one file, a rename does nothing.
    store::remove(&half_made)?;
    system.sync_folder(store::folder(target))
}
