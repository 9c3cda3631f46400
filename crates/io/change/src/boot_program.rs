//! The program that the boot unit starts. It is a file of its own: the agents beside it come and go with every build.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crosstie_durable as durable;
use crosstie_model::{PlanStep, plan::FileChange};
use crosstie_plan::paths;

use super::{
    error::PlannedFileError, files, journal::StoredTransaction, system_access::SystemAccess,
};

/// The one that was there before, beside the journal.
const SAVED_PROGRAM: &str = "boot-program";

/// Whether what the boot unit does is among the steps.
pub(super) fn changes_boot_program(steps: &[PlanStep]) -> bool {
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
pub(super) fn save_previous(system: &dyn SystemAccess, journal: &Path) -> io::Result<bool> {
    match fs::hard_link(system.path(paths::BINARY), journal.join(SAVED_PROGRAM)) {
        Ok(()) => Ok(true),
        Err(error) if durable::is_absent(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Durably, before the unit that starts it is enabled.
pub(super) fn install(
    system: &dyn SystemAccess,
    transaction: &StoredTransaction,
) -> Result<(), PlannedFileError> {
    let target = system.path(paths::BINARY);
    durable::make_folder(system, durable::parent_folder(&target), 0o755)
        .and_then(|()| durable::hard_link_or_copy(system, &transaction.program(), &target))
        .map_err(PlannedFileError::at(&target))?;
    system.edge("the boot unit's program is there");
    Ok(())
}

/// As it was before the change.
pub(super) fn restore(
    system: &dyn SystemAccess,
    transaction: &StoredTransaction,
) -> io::Result<()> {
    let target = system.path(paths::BINARY);
    match transaction.journal.boot_program {
        None => Ok(()),
        // A link, so that it takes no room.
        Some(true) => {
            durable::hard_link_or_copy(system, &transaction.folder.join(SAVED_PROGRAM), &target)
        }
        Some(false) => {
            durable::remove(&durable::temporary_name(&target))?;
            durable::remove_synced(system, &target)?;
            // Somebody else's files keep it.
            let _ = fs::remove_dir(durable::parent_folder(&target));
            Ok(())
        }
    }
}

/// Whether it is missing, though a change in force rests on it.
pub(super) fn missing_program(
    system: &dyn SystemAccess,
    transactions: &[StoredTransaction],
) -> Option<PathBuf> {
    let path = system.path(paths::BINARY);
    let mut in_force = transactions.iter().filter(|found| found.is_in_force());
    let needed = in_force.any(|found| found.journal.boot_program.is_some());
    (needed && !path.is_file()).then_some(path)
}
