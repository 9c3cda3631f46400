//! From an order to a change that waits to be confirmed.

use std::{
    collections::BTreeSet,
    error::Error,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use crosstie_model::{
    Facts, PlanStep, Reading,
    change::{
        ApplyRequest, ArmedChange, ChangeError, ChangeReply, TransactionKind, TransactionState,
    },
};

use super::{
    boot_program,
    error::{ChangeJournalError, PlannedFileError, StepError, TransactionError, told},
    files::{self, PreparedFiles},
    journal::{ChangeJournal, FORMAT, StoredTransaction},
    lock::{self, ChangeLock},
    new_transaction_id, requests, rollback,
    system_access::SystemAccess,
};
use crosstie_node::names;

/// For managers to bring interfaces to what their files say.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(45);
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// Before a plan is stale.
const MAX_PLAN_CHECKS: u32 = 3;
/// A second order comes after the first, not beside it.
const LOCK_TIMEOUT: Duration = Duration::from_secs(2);

pub(super) fn lock(state: &Path) -> Result<ChangeLock, ChangeError> {
    let lock = lock::acquire(state, LOCK_TIMEOUT).map_err(|error| ChangeError::Journal {
        what: format!("{} cannot be locked", state.display()),
        why: error.to_string(),
    })?;
    lock.ok_or_else(|| ChangeError::Busy {
        what: "another change".to_owned(),
    })
}

pub(super) fn all(state: &Path) -> Result<Vec<StoredTransaction>, ChangeError> {
    StoredTransaction::all(state).map_err(|error| unread(&error))
}

/// Those that were set aside.
pub(super) fn unreadable_folders(state: &Path) -> Result<Vec<PathBuf>, ChangeError> {
    StoredTransaction::unreadable_folders(state).map_err(|error| unread(&error))
}

fn unread(error: &ChangeJournalError) -> ChangeError {
    let way_out = match error {
        ChangeJournalError::OtherBuild { .. } => {
            "; `crosstie rollback` of that build rolls it back"
        }
        damaged if damaged.is_damage() => {
            "; `crosstie uninstall --force` sets it aside and rolls back the others"
        }
        ChangeJournalError::System(_) => "",
    };
    ChangeError::Journal {
        what: "a journal cannot be read".to_owned(),
        why: told(error) + way_out,
    }
}

/// One that is neither kept nor rolled back stands in the way of the next, as long as its guard waits. What was cut off
/// before it had one is restored here, and what is left of a guard goes.
pub(super) fn settle_interrupted(
    system: &dyn SystemAccess,
    state: &Path,
) -> Result<(), ChangeError> {
    let is_unsettled = |found: &StoredTransaction| {
        found.progress.state.is_open() || requests::has_unwritten_end(system, found)
    };
    for mut open in all(state)?.into_iter().filter(is_unsettled) {
        // Where systemd does not say, somebody may wait for its confirmation.
        if system.is_guard_waiting() != Some(false) {
            return Err(ChangeError::Open {
                transaction: open.journal.id.clone(),
                state: open.progress.state,
            });
        }
        system.own(&open.journal.id);
        let done = requests::rollback_one(system, &mut open, "it was cut off");
        let done = done.map_err(|error| ChangeError::NotRolledBack {
            transaction: open.journal.id.clone(),
            why: told(&error),
        })?;
        requests::ended(&open, done)?;
    }
    system
        .disarm()
        .map_err(|error| ChangeError::GuardStays { why: told(&error) })
}

/// A machine that is busy or still settles is looked at again before its plan is stale.
fn wait_for_planned_facts(system: &dyn SystemAccess, then: &str) -> Result<Facts, ChangeError> {
    let mut looks = 0;
    loop {
        let facts = system.facts();
        let now = crosstie_plan::basis(&facts);
        if now == then {
            return Ok(facts);
        }
        looks += 1;
        if looks == MAX_PLAN_CHECKS {
            let changed = crosstie_plan::changed(&now, then).join(", ");
            return Err(ChangeError::Stale {
                what: format!("{changed}: what is read now is not what was read then"),
            });
        }
        thread::sleep(POLL_INTERVAL);
    }
}

pub(super) fn apply(
    system: &dyn SystemAccess,
    state: &Path,
    order: &ApplyRequest,
) -> Result<ChangeReply, ChangeError> {
    let lock = lock(state)?;
    settle_interrupted(system, state)?;
    let facts = wait_for_planned_facts(system, &order.plan.basis)?;
    if order.plan.steps.is_empty() {
        return Ok(ChangeReply::Nothing);
    }
    if let Some(refusal) = order.plan.refusals.first() {
        return Err(ChangeError::Stale {
            what: format!("the plan itself refuses ({refusal})"),
        });
    }
    // A plan comes from elsewhere, and names become arguments and paths.
    let mut named = order.plan.steps.iter().flat_map(PlanStep::interfaces);
    if let Some(odd) = named.find(|name| !names::is_interface(name)) {
        return Err(ChangeError::Stale {
            what: format!("'{odd}' is no interface"),
        });
    }
    if !order.force {
        check_not_in_use(&facts, &order.plan.steps)?;
    }
    let transaction = prepare(system, state, order)?;
    if let Err(error) = install_packages(system, &order.plan.steps) {
        let _ = transaction.forget();
        return Err(ChangeError::Packages { why: told(&error) });
    }
    let mut transaction = run_armed(system, transaction)?;
    let done = install_boot_program(system, &transaction)
        .and_then(|()| run_steps(system, &order.plan.steps))
        .and_then(|()| wait_until_done(system, &order.plan.steps))
        .and_then(|()| {
            let entered = transaction.enter(system, TransactionState::Applied, None);
            entered.map_err(|error| ("noting that it is done".to_owned(), error.into()))
        });
    match done {
        Ok(()) => Ok(ChangeReply::Armed(ArmedChange {
            seconds_left: transaction.seconds_left(system).unwrap_or(0),
            transaction: transaction.journal.id,
            ended: None,
        })),
        Err((step, error)) => Err(roll_back(system, lock, transaction, step, &error)),
    }
}

fn prepare(
    system: &dyn SystemAccess,
    state: &Path,
    order: &ApplyRequest,
) -> Result<StoredTransaction, ChangeError> {
    rollback::remove_finished(state)
        .map_err(|error| not_begun("an old journal cannot be removed", told(&error)))?;
    let steps = &order.plan.steps;
    let PreparedFiles {
        images,
        contents,
        folders,
    } = files::prepare_files(system, steps).map_err(PlannedFileError::refusal)?;
    let journal = ChangeJournal {
        format: FORMAT,
        id: new_transaction_id(system, state),
        run: Some(order.run.clone()),
        kind: TransactionKind::Apply,
        what: order.cluster.clone(),
        began: system.now(),
        boot: system.boot(),
        guard_seconds: order.guard_seconds,
        steps: steps.clone(),
        images,
        folders,
        watched: Vec::new(),
        tree: Vec::new(),
        boot_program: None,
        drift: Vec::new(),
        before: system.before(&disrupted(steps)),
    };
    system.own(&journal.id);
    StoredTransaction::create(system, state, journal, &contents)
        .map_err(|error| not_begun("the journal cannot be written", told(&error)))
}

pub(super) fn not_begun(what: &str, why: String) -> ChangeError {
    ChangeError::NotBegun {
        what: what.to_owned(),
        why,
    }
}

/// With the guard armed. Where it cannot be, nothing is left of it, or it finds a journal that says so.
pub(super) fn run_armed(
    system: &dyn SystemAccess,
    mut transaction: StoredTransaction,
) -> Result<StoredTransaction, ChangeError> {
    let guard = Duration::from_secs(transaction.journal.guard_seconds.into());
    // The state goes first: a guard that wakes up finds something to roll back.
    let armed = transaction
        .enter(system, TransactionState::Armed, None)
        .map_err(|error| told(&error))
        .and_then(|()| {
            let armed = system.arm(&transaction.journal.id, &transaction.program(), guard);
            armed.map_err(|error| told(&error))
        });
    match armed {
        Ok(()) => {
            system.edge("the guard is armed");
            Ok(transaction)
        }
        Err(why) => {
            // Units that stay start the program beside the journal, so it stays with them: they find nothing to roll back, and
            // go.
            if system.disarm().is_ok() {
                let _ = transaction.forget();
            }
            let steps = transaction.journal.steps.iter();
            let installed = steps.filter(|step| step.is_before_guard());
            Err(ChangeError::NoGuard {
                why,
                installed: installed.map(PlanStep::subject).collect(),
            })
        }
    }
}

/// It can take minutes and needs the network that is there now, so it goes before the guard.
fn install_packages(system: &dyn SystemAccess, steps: &[PlanStep]) -> Result<(), StepError> {
    let mut packages = steps.iter().filter(|step| step.is_before_guard());
    packages.try_for_each(|step| system.set(step))
}

/// What was being done, and why it stopped.
type Stopped = (String, TransactionError);

fn install_boot_program(
    system: &dyn SystemAccess,
    transaction: &StoredTransaction,
) -> Result<(), Stopped> {
    if transaction.journal.boot_program.is_none() {
        return Ok(());
    }
    boot_program::install(system, transaction).map_err(|error| {
        (
            "installing the boot unit's program".to_owned(),
            error.into(),
        )
    })
}

fn run_steps(system: &dyn SystemAccess, steps: &[PlanStep]) -> Result<(), Stopped> {
    for step in steps.iter().filter(|step| !step.is_before_guard()) {
        run_step(system, step).map_err(|error| (step.label(), error))?;
        system.edge("a step is done");
    }
    Ok(())
}

fn run_step(system: &dyn SystemAccess, step: &PlanStep) -> Result<(), TransactionError> {
    for file in step.files() {
        files::apply(system, file)?;
        system.edge("a file is changed");
    }
    if !step.rereads().is_empty() {
        // Whatever else failed, it is rolled back for the first.
        let mut failed = system.reread(step.rereads()).into_iter();
        failed.next().map_or(Ok(()), Err)?;
    }
    Ok(system.set(step)?)
}

/// Everything is read again until every step is seen to be done.
fn wait_until_done(system: &dyn SystemAccess, steps: &[PlanStep]) -> Result<(), Stopped> {
    let until = Instant::now() + SETTLE_TIMEOUT;
    loop {
        let facts = system.facts();
        let open = steps.iter().find(|step| !step.is_done(&facts));
        let Some(step) = open else {
            return Ok(());
        };
        if Instant::now() >= until || system.abandoned().is_some() {
            let found = difference(step, &facts);
            return Err((step.label(), TransactionError::NotSeen { found }));
        }
        thread::sleep(POLL_INTERVAL);
    }
}

/// Why a step that was done is not seen to be.
fn difference(step: &PlanStep, facts: &Facts) -> String {
    let changes: Vec<String> = step
        .interface_changes()
        .filter_map(|change| change.difference(facts))
        .collect();
    if !changes.is_empty() {
        return format!("its manager did not make it so: {}", changes.join("; "));
    }
    if step.files().is_empty() {
        "it was done, and does not show".to_owned()
    } else {
        "it was written, and is not read back".to_owned()
    }
}

/// The guard does it, apart from this process and its connection.
pub(super) fn roll_back(
    system: &dyn SystemAccess,
    lock: ChangeLock,
    mut transaction: StoredTransaction,
    step: String,
    error: &dyn Error,
) -> ChangeError {
    let why = told(error);
    // A program of ours that was ended with the call fails, too: that is not why.
    let reason = match system.abandoned() {
        Some(abandoned) => format!("{abandoned} before it was done"),
        None => format!("{step}: {why}"),
    };
    // It is rolled back also where a full disk does not take the reason.
    let _ = transaction.save_reason(system, &requests::shortened_reason(&reason));
    drop(lock);
    match system.rollback_now(&transaction.journal.id) {
        Ok(left) if left.is_empty() => ChangeError::Failed { step, why },
        Ok(left) => ChangeError::FailedWithRest { step, why, left },
        Err(also) => ChangeError::Stuck {
            step,
            why,
            also: told(&also),
        },
    }
}

/// Those on which traffic stops, for a moment or for good.
fn disrupted(steps: &[PlanStep]) -> Vec<String> {
    let steps = steps.iter().filter(|step| step.disrupts());
    let names: BTreeSet<&str> = steps.flat_map(PlanStep::interfaces).collect();
    names.into_iter().map(str::to_owned).collect()
}

/// Queue pairs of programs. Those of the kernel's own management (GSI, SMI) are always there.
fn check_not_in_use(facts: &Facts, steps: &[PlanStep]) -> Result<(), ChangeError> {
    let touched = disrupted(steps);
    for device in &facts.rdma {
        for port in &device.ports {
            let Some(interface) = port.netdev.known().filter(|name| touched.contains(name)) else {
                continue;
            };
            // A kernel that cannot tell has none to tell of; what could not be read may be anything.
            let unread = match &device.queue_pairs {
                Reading::Value(_) | Reading::Absent => None,
                Reading::Denied => Some("not permitted"),
                Reading::Malformed(found) => Some(found.as_str()),
            };
            if let Some(why) = unread {
                return Err(ChangeError::UsersUnread {
                    interface: interface.clone(),
                    why: why.to_owned(),
                });
            }
            let pairs = device.queue_pairs.known().into_iter().flatten();
            let users = pairs.filter(|pair| {
                !matches!(pair.kind.as_str(), "GSI" | "SMI")
                    && pair.port.is_none_or(|number| number == port.number)
            });
            let mut users: Vec<String> = users
                .map(|pair| match (&pair.command, pair.pid) {
                    (Some(command), Some(pid)) => format!("{command}, process {pid}"),
                    (Some(command), None) => command.clone(),
                    _ => format!("queue pair {}", pair.number),
                })
                .collect();
            users.sort();
            users.dedup();
            if !users.is_empty() {
                users.truncate(4);
                return Err(ChangeError::InUse {
                    interface: interface.clone(),
                    users: users.join("; "),
                });
            }
        }
    }
    Ok(())
}
