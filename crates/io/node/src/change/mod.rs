//! Changing this node: a journal first, a guard armed, then the change; kept once it is confirmed, else undone.
//!
//! The journal holds every file as it was and every value that is touched, and lies whole on disk before anything is
//! changed. A timer and a boot unit, both on disk, go the way back unless the state beside it says `confirmed` by then.
//! Whoever holds the lock decides what the state is.

mod boot_program;
mod drift;
mod error;
mod files;
mod image;
mod journal;
mod lock;
mod machine;
mod outcome;
mod store;
mod system;
mod transaction;
mod trial;
mod undo;

use std::{
    path::Path,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use crosstie_model::change::{Ask, ChangeError, Changed};

use machine::Machine;
use system::System;
use undo::Moment;

/// Everything that this tool keeps on a node.
pub(crate) const HOME: &str = "/var/lib/crosstie";
/// Where journals are.
pub const STATE: &str = "/var/lib/crosstie/changes";

/// Probes are few and short.
const PROBES: Duration = Duration::from_secs(10);

/// The change that this process has begun and nobody has confirmed.
static BEGUN: Mutex<Option<String>> = Mutex::new(None);
/// This process is asked for a change or for a way back, and has not answered.
static AT_WORK: AtomicBool = AtomicBool::new(false);

/// The node's part of every change.
pub fn answer(ask: &Ask) -> Result<Changed, ChangeError> {
    if let Ask::Reach { probes } = ask {
        return Ok(Changed::Reached(crate::probe::reach(probes, PROBES)));
    }
    if !rustix::process::geteuid().is_root() {
        return Err(ChangeError::NotRoot { why: String::new() });
    }
    let works = matches!(
        ask,
        Ask::Apply(_) | Ask::Try(_) | Ask::Rollback { .. } | Ask::Uninstall { .. }
    );
    if works {
        AT_WORK.store(true, Ordering::Relaxed);
    }
    let changed = answer_by(&Machine, Path::new(STATE), ask);
    if let Ok(changed) = &changed {
        remember(ask, changed);
    }
    if works {
        AT_WORK.store(false, Ordering::Relaxed);
    }
    changed
}

fn remember(ask: &Ask, changed: &Changed) {
    let mut begun = BEGUN
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    match (changed, ask) {
        (Changed::Armed(armed), _) => *begun = Some(armed.transaction.clone()),
        (Changed::Confirmed, Ask::Confirm { transaction })
            if begun.as_ref() == Some(transaction) =>
        {
            *begun = None;
        }
        _ => {}
    }
}

fn answer_by(system: &dyn System, state: &Path, ask: &Ask) -> Result<Changed, ChangeError> {
    match ask {
        Ask::Apply(order) => transaction::apply(system, state, order),
        Ask::Try(trial) => trial::run(system, state, trial),
        Ask::Confirm { transaction } => outcome::confirm(system, state, transaction),
        Ask::Rollback { transaction, force } => {
            outcome::rollback(system, state, transaction.as_deref(), *force)
        }
        Ask::Uninstall { force } => outcome::uninstall(system, state, *force),
        Ask::Status => outcome::status(system, state).map(Changed::Status),
        Ask::Reach { .. } => Ok(Changed::Nothing),
    }
}

/// A controller that leaves has changed its mind: what it began and did not confirm goes back now, not at the deadline; so
/// does what is being changed, or put back, at this moment.
pub fn abandon() {
    let begun = BEGUN
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
        .take();
    // One that still waits for its turn has changed nothing, and the guard is somebody else's.
    let at_work = AT_WORK.load(Ordering::Relaxed) && lock::was_ours(Path::new(STATE));
    if begun.is_some() || at_work {
        machine::start_guard();
    }
}

/// The guard's work, at its deadline or at boot.
pub fn guard(transaction: &str, early_boot: bool) -> Result<Vec<String>, String> {
    if transaction.is_empty() || transaction.contains('/') || transaction.starts_with('.') {
        return Err(format!("'{transaction}' is no transaction"));
    }
    // A second attempt of the boot unit may come when managers run already.
    let moment = if early_boot && !machine::network_is_managed() {
        Moment::EarlyBoot
    } else {
        Moment::Running
    };
    let machine = Machine;
    let outcome = outcome::guard(&machine, Path::new(STATE), transaction, moment)?;
    let mut lines = Vec::new();
    if let Some(outcome) = outcome {
        lines.push(format!("{transaction} is rolled back"));
        lines.extend(outcome.kept.iter().map(|kept| format!("kept: {kept}")));
        lines.extend(outcome.left);
    }
    Ok(lines)
}

/// The guard's wait: its work is started at this moment of `CLOCK_BOOTTIME`, and is done here where systemd does not start it.
pub fn guard_at(transaction: &str, until: Duration) -> Result<Vec<String>, String> {
    machine::wait_until(until).map_err(|error| format!("the guard cannot wait: {error}"))?;
    match machine::start_at_deadline() {
        Ok(()) => Ok(Vec::new()),
        Err(error) => {
            tracing::warn!("systemd does not start the rollback: {error}");
            guard(transaction, false)
        }
    }
}

/// `0007-20261115T101500Z`: sorted as they were begun, whatever the clock says.
fn name(system: &dyn System, state: &Path) -> String {
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
