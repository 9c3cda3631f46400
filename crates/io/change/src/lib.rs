//! Changing this node: a journal first, a guard armed, then the change; kept once it is confirmed, else rolled back.
//!
//! The journal holds every file as it was and every value that is touched, and lies whole on disk before anything is
//! changed. A service that waits and a boot unit, both on disk, roll back unless the state beside it says `confirmed` by then.
//! Whoever holds the lock decides what the state is.

pub mod boot_file;
mod boot_notes;
mod boot_program;
mod distribution;
mod drift;
mod error;
mod file_image;
mod files;
mod folder;
mod guard_run;
mod journal;
mod lock;
mod node_system;
mod program;
mod renderer;
mod requests;
mod rollback;
mod session;
pub mod step;
mod system_access;
mod transaction;
mod trial;

use std::{path::Path, time::Duration};

use crosstie_model::change::{ChangeError, ChangeReply, ChangeRequest};

pub use error::{
    ChangeJournalError, ExternalProgramError, GuardRunError, GuardSetupError, StepError,
};
pub use session::{RollbackOnSessionEnd, SessionTransaction};

use node_system::NodeSystem;
use requests::RollbackRequest;
use rollback::RollbackMoment;
use system_access::SystemAccess;

/// Everything that this tool keeps on a node.
pub(crate) const HOME_FOLDER: &str = "/var/lib/crosstie";
/// Where journals are.
pub const CHANGES_FOLDER: &str = "/var/lib/crosstie/changes";

/// The node's part of every change. `own` learns which transaction the session answers for.
pub fn handle_request(
    ask: &ChangeRequest,
    own: SessionTransaction,
) -> Result<ChangeReply, ChangeError> {
    if !rustix::process::geteuid().is_root() {
        return Err(ChangeError::NotRoot { why: String::new() });
    }
    if let ChangeRequest::Confirm { transaction } = ask {
        own.set(transaction);
    }
    handle_request_with(&NodeSystem { own }, Path::new(CHANGES_FOLDER), ask)
}

fn handle_request_with(
    system: &dyn SystemAccess,
    state: &Path,
    ask: &ChangeRequest,
) -> Result<ChangeReply, ChangeError> {
    match ask {
        ChangeRequest::Apply(order) => transaction::apply(system, state, order),
        ChangeRequest::Try(trial) => trial::run(system, state, trial),
        ChangeRequest::Confirm { transaction } => requests::confirm(system, state, transaction),
        ChangeRequest::Rollback {
            transaction,
            only,
            force,
            why,
        } => {
            let named = transaction.as_deref();
            let asked = RollbackRequest {
                only: only.as_deref(),
                force: *force,
                why: why.as_deref(),
            };
            requests::rollback(system, state, named, asked)
        }
        ChangeRequest::Uninstall { force } => requests::uninstall(system, state, *force),
        ChangeRequest::Status => requests::status(system, state).map(ChangeReply::Status),
    }
}

/// The guard's work, at its deadline or at boot.
pub fn run_guard(transaction: &str, early_boot: bool) -> Result<Vec<String>, GuardRunError> {
    if transaction.is_empty() || transaction.contains('/') || transaction.starts_with('.') {
        return Err(GuardRunError::NotTransaction {
            name: transaction.to_owned(),
        });
    }
    // A second attempt of the boot unit may come when managers run already.
    let moment = if early_boot && !renderer::is_any_running() {
        RollbackMoment::EarlyBoot
    } else {
        RollbackMoment::Running
    };
    let machine = NodeSystem::default();
    let outcome = guard_run::run_guard(&machine, Path::new(CHANGES_FOLDER), transaction, moment)?;
    let mut lines = Vec::new();
    if let Some(outcome) = outcome {
        lines.push(format!("{transaction} is rolled back"));
        lines.extend(outcome.kept.iter().map(|kept| format!("kept: {kept}")));
        lines.extend(outcome.left);
    }
    Ok(lines)
}

/// The guard's wait: its work is started at this moment of `CLOCK_BOOTTIME`, and is done here where systemd does not start it.
pub fn wait_and_run_guard(
    transaction: &str,
    until: Duration,
) -> Result<Vec<String>, GuardRunError> {
    node_system::wait_until(until).map_err(GuardRunError::Wait)?;
    match node_system::start_rollback_unit() {
        Ok(()) => Ok(Vec::new()),
        Err(error) => {
            tracing::warn!("systemd does not start the rollback: {error}");
            run_guard(transaction, false)
        }
    }
}

/// `0007-20261115T101500Z`: sorted as they were begun, whatever the clock says.
fn new_transaction_id(system: &dyn SystemAccess, state: &Path) -> String {
    let entries = std::fs::read_dir(state).into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| {
        let name = entry.file_name();
        name.to_str()?.split('-').next()?.parse::<u32>().ok()
    });
    let next = numbers.max().unwrap_or(0) + 1;
    let time: String = system
        .now()
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .collect();
    format!("{next:04}-{time}")
}

#[cfg(test)]
mod tests;
