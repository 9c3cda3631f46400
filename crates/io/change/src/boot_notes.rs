//! Notes in `/run`, which a boot takes: what matters until then, and where the disk may take nothing any more.

use std::{fs, io, path::PathBuf};

use crosstie_durable::{self as durable, AtomicWrite, RealDisk};

use super::{journal::TransactionProgress, system_access::SystemAccess};

/// Below what `uninstall` removes.
pub(super) const FOLDER: &str = "/run/crosstie/changes";
const MAX_NOTE_BYTES: u64 = 1 << 20;

/// How a rollback ended whose end the journal does not take. The next boot rolls back once more, and until then nobody does
/// by himself: what people have done to the node since would be lost each time.
pub(super) fn save_end(
    system: &dyn SystemAccess,
    transaction: &str,
    progress: &TransactionProgress,
) -> io::Result<()> {
    durable::private_folder(&RealDisk, &system.path(FOLDER))?;
    AtomicWrite::new(&end_file(system, transaction), 0o600)
        .without_sync()
        .write_json(&RealDisk, progress)
}

pub(super) fn end(system: &dyn SystemAccess, transaction: &str) -> Option<TransactionProgress> {
    durable::read_json(&end_file(system, transaction), MAX_NOTE_BYTES).ok()
}

/// The journal says it now.
pub(super) fn remove_end(system: &dyn SystemAccess, transaction: &str) {
    let _ = fs::remove_file(end_file(system, transaction));
}

fn end_file(system: &dyn SystemAccess, transaction: &str) -> PathBuf {
    system.path(FOLDER).join(format!("{transaction}.json"))
}
