//! A risky command on one node, rolled back unless it is kept.

use std::{
    thread,
    time::{Duration, Instant},
};

use crosstie_model::change::{ChangeRequest, TryCommandResult, TryRequest};
use crosstie_reach::NodeStage;
use crosstie_report::change::{ApplyReport, NodeChange, NodeChangeOutcome};

use super::{
    change_targets::ChangeTargets,
    interrupt_message, no_root,
    node_calls::ApplyTimeouts,
    run_id::new_run_id,
    transaction::{ChangeTarget, RemoteTransaction, begin},
};
use crate::{
    Consent, ConsentAnswer, ConsentQuestion, ControlEvent, EventObserver, FleetRound,
    FleetSnapshot, NoRandomNumbers, RequestedTargets, SnapshotError, TargetsError,
};

#[derive(Debug, thiserror::Error)]
pub enum TryCommandError {
    #[error("--file {path}: give the path on the node from its root, like /etc/frr")]
    RelativeFile { path: String },
    #[error(transparent)]
    Targets(#[from] TargetsError),
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    #[error(transparent)]
    NoRandomNumbers(#[from] NoRandomNumbers),
}

#[derive(Debug)]
pub struct TrialOptions {
    pub command: Vec<String>,
    /// Files and folders on the node that are restored, too.
    pub files: Vec<String>,
    /// After which it is rolled back, unless it is kept.
    pub time: Duration,
    /// Also where something of the network cannot be read, and so could not be restored.
    pub force: bool,
}

/// On the first of the nodes that are named.
pub fn try_command(
    targets: &RequestedTargets,
    options: &TrialOptions,
    consent: &Consent,
) -> Result<ApplyReport, TryCommandError> {
    if let Some(path) = options.files.iter().find(|path| !path.starts_with('/')) {
        return Err(TryCommandError::RelativeFile { path: path.clone() });
    }
    let (spec, fleet) = targets.find_live(true)?;
    let nodes = FleetSnapshot::take(&fleet).as_root(no_root)?;
    let subjects = ChangeTargets::new(spec.as_ref(), &fleet, &nodes);
    let subject = subjects.subject(0);
    let trial = trial(options, new_run_id()?);
    let round = fleet.round(std::slice::from_ref(&subject.node));
    let stage = |stage| round.stage(0, stage);
    fleet.options().observer.observe(ControlEvent::TrialBegins);
    let told = fleet.options();
    told.last_words(&interrupt_message(&told.offer));
    let limits = ApplyTimeouts::default();
    let deadline = options.time + limits.rollback;
    let run = trial.run.clone();
    let begun = begin(
        &subject,
        &ChangeRequest::Try(trial),
        &|_| None,
        deadline,
        limits,
        &stage,
    );
    let change = match begun {
        Err(change) => change,
        Ok(transaction) => {
            let observer = &fleet.options().observer;
            let decided = check_and_ask(transaction, observer.as_ref(), consent, &round, &stage);
            match decided {
                Decided::Settled(change) => change,
                Decided::Unreached(change) => {
                    check_after_rollback(change, &subject, limits, &stage)
                }
            }
        }
    };
    round.end();
    crosstie_reach::end_if_interrupted();
    told.last_words("");
    let mut changes = ApplyReport::new(vec![change]);
    changes.run = Some(run);
    Ok(changes)
}

fn trial(options: &TrialOptions, run: String) -> TryRequest {
    let guard = u32::try_from(options.time.as_secs()).unwrap_or(u32::MAX);
    TryRequest {
        run,
        command: options.command.clone(),
        files: options.files.clone(),
        guard_seconds: guard,
        // What is left is for a look at the node, and for a person.
        command_seconds: guard / 2,
        force: options.force,
    }
}

enum Decided {
    Settled(NodeChange),
    /// It was rolled back, since it was not reached as before.
    Unreached(NodeChange),
}

/// A rollback does not restore everything that a command can do: a service that it stopped stays so.
fn check_after_rollback(
    mut change: NodeChange,
    subject: &ChangeTarget,
    limits: ApplyTimeouts,
    stage: &dyn Fn(NodeStage),
) -> NodeChange {
    let end = Instant::now() + limits.settle / 2;
    let error = loop {
        match subject.connector.fresh(limits.connect, stage) {
            Ok(_) => return change,
            Err(error) if Instant::now() + limits.pause >= end => break error,
            Err(_) => thread::sleep(limits.pause),
        }
    };
    let why = change.why.take().unwrap_or_default();
    change.outcome = match change.outcome {
        NodeChangeOutcome::RolledBack => NodeChangeOutcome::Failed,
        other => other,
    };
    change.with_reason(format!(
        "the node is cut off: {why}; what can be restored is restored, and still no new connection works ({}). Services, for \
         one, stay as the command left them: use its console, or a session that is still open",
        error.line()
    ))
}

/// Shows what the command did, looks whether the node still answers, and asks.
fn check_and_ask(
    mut transaction: RemoteTransaction,
    observer: &dyn EventObserver,
    consent: &Consent,
    round: &FleetRound,
    stage: &dyn Fn(NodeStage),
) -> Decided {
    let checked = transaction.check(stage);
    // Nothing is drawn over a question.
    round.end();
    if let Some(ended) = transaction.ended() {
        observer.observe(ControlEvent::TrialEnded(ended));
    }
    if let Err(why) = checked {
        return Decided::Unreached(transaction.roll_back(&why, stage));
    }
    Decided::Settled(
        match keep_or_reason(consent, transaction.ended(), transaction.until()) {
            Ok(()) => transaction.confirm(stage),
            Err(why) => transaction.roll_back(why, stage),
        },
    )
}

/// Whether to keep what answers; else why not. Somebody who is asked has seen how the command ended.
fn keep_or_reason(
    consent: &Consent,
    ended: Option<&TryCommandResult>,
    until: Instant,
) -> Result<(), &'static str> {
    let question = ConsentQuestion {
        text: "The node answers over a new connection.",
        ask: "Keep the change?",
        plan: None,
        until: Some(until),
    };
    let failed = ended.is_some_and(|ended| ended.status != Some(0));
    let Consent { yes, prompter } = consent;
    match (*yes, prompter.is_present()) {
        (true, _) if ended.is_some_and(|ended| ended.status.is_none()) => {
            Err("the command was ended: by a signal, or since it took more than half of --for")
        }
        (true, _) if failed => Err("the command failed"),
        (true, _) => Ok(()),
        (false, true) => match prompter.ask(&question) {
            ConsentAnswer::Yes => Ok(()),
            ConsentAnswer::No => Err("it was not kept"),
            ConsentAnswer::EndOfInput => {
                Err("the input ended before an answer; --yes keeps it without a question")
            }
            ConsentAnswer::Silence => Err("nobody said in time that it is to be kept"),
        },
        (false, false) => Err("there is no terminal to ask on, and --yes was not passed"),
    }
}
