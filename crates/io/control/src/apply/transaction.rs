//! A change of one node, from before it to its end: confirmed, or rolled back.
//!
//! The session that began it stays open until then, since the node rolls back at once when it ends.

use std::{
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use crosstie_model::{
    Facts,
    change::{
        ArmedChange, ChangeError, ChangeReply, ChangeRequest, ReachabilityProbe, RollbackReport,
        TryCommandResult,
    },
};
use crosstie_reach::{NodeStage, Session};
use crosstie_report::{
    change::{NodeChange, NodeChangeOutcome},
    suggested_command::{CommandContext, CommandVerb},
};

use super::{
    change_targets::{PeerProbes, WitnessPeer},
    node_calls::{
        ApplyTimeouts, ChangeCallError, call_change, call_change_when_free, error_with_suggestion,
        probe_again,
    },
    unreachable,
};
use crate::{Connector, FleetSnapshot};

/// A node that is to be changed, and how one sees that it is still reached.
pub(super) struct ChangeTarget {
    /// Its own name.
    pub(super) node: String,
    pub(super) connector: Arc<dyn Connector>,
    /// What may answer there. Only what did before the change is asked again.
    pub(super) probes: Vec<ReachabilityProbe>,
    /// It is the machine that we run on, so no connection of ours proves anything: others are asked.
    pub(super) seen_by: Option<PeerProbes>,
    /// For commands that are offered.
    pub(super) offer: CommandContext,
}

impl ChangeTarget {
    /// For whom nothing is changed: nobody has to look whether it is still reached.
    pub(super) fn without_probes(self) -> Self {
        Self {
            probes: Vec::new(),
            seen_by: None,
            ..self
        }
    }
}

pub(super) struct RemoteTransaction<'a> {
    subject: &'a ChangeTarget,
    limits: ApplyTimeouts,
    armed: ArmedChange,
    /// When the node rolls back by itself.
    until: Instant,
    began: Instant,
    first: Option<Box<dyn Session>>,
    fresh: Option<Box<dyn Session>>,
    /// What answered before.
    kept: Vec<ReachabilityProbe>,
    witness: Option<WitnessPeer>,
    /// The node was asked to keep it.
    confirming: bool,
    notes: Vec<String>,
}

/// Over which connection a node is asked to roll back.
#[derive(Clone, Copy)]
enum RollbackOver {
    /// That which was opened to confirm it.
    Fresh,
    /// That which began it.
    First,
    Another,
}

/// What to ask for instead of a plan that is stale: the same work, if that is what a plan of these facts comes to. A cable's
/// other end that was just brought up is no reason to stop; anything that nobody has approved of is.
pub(super) type ReplanIfStale = dyn Fn(&Facts) -> Option<ChangeRequest> + Send + Sync;

/// Asks for a change, once it is known what the node reaches. `Err` is the end of it.
pub(super) fn begin<'a>(
    subject: &'a ChangeTarget,
    change: &ChangeRequest,
    again: &ReplanIfStale,
    deadline: Duration,
    limits: ApplyTimeouts,
    progress: &dyn Fn(NodeStage),
) -> Result<RemoteTransaction<'a>, NodeChange> {
    let failed =
        |why: String| NodeChange::new(&subject.node, NodeChangeOutcome::Failed).with_reason(why);
    let first = subject.connector.session(progress);
    let mut first = first.map_err(|error| failed(error.line()))?;
    let (kept, _) = probe_again(first.as_mut(), &subject.probes, &limits, progress)
        .map_err(|error| failed(error.to_string()))?;
    let mut notes = Vec::new();
    let witness = subject.seen_by.as_ref().and_then(|seen_by| {
        let witness = seen_by.find(&limits, progress);
        if witness.is_none() {
            notes.push("it is this machine, and no other node could reach it before: what it reaches itself has to do".to_owned());
        }
        witness
    });
    let began = Instant::now();
    let mut answer = call_change(first.as_mut(), change, deadline, progress);
    if let Err(ChangeCallError::Refused(ChangeError::Stale { .. })) = &answer
        && let Ok(facts) = FleetSnapshot::facts_over(first.as_ref(), limits.answer, progress)
        && let Some(change) = again(&facts)
    {
        answer = call_change(first.as_mut(), &change, deadline, progress);
    }
    match answer {
        Ok(ChangeReply::Armed(armed)) => Ok(RemoteTransaction {
            subject,
            limits,
            until: Instant::now() + Duration::from_secs(armed.seconds_left.into()),
            armed,
            began,
            first: Some(first),
            fresh: None,
            kept,
            witness,
            confirming: false,
            notes,
        }),
        Err(ChangeCallError::Refused(error)) => Err(refused(subject, &error)),
        Ok(ChangeReply::Nothing) => {
            Err(NodeChange::new(&subject.node, NodeChangeOutcome::Unchanged))
        }
        answer => {
            let error = answer.err().unwrap_or_else(ChangeCallError::wrong_answer);
            drop(first);
            let run = run_of(change);
            Err(unreachable::resolve_unreachable_change(
                subject, run, &error, limits, progress,
            ))
        }
    }
}

/// That which a change is part of.
fn run_of(change: &ChangeRequest) -> &str {
    match change {
        ChangeRequest::Apply(order) => &order.run,
        ChangeRequest::Try(trial) => &trial.run,
        _ => "",
    }
}

/// The node's own no.
fn refused(subject: &ChangeTarget, error: &ChangeError) -> NodeChange {
    let outcome = match error {
        ChangeError::Failed { .. } | ChangeError::FailedWithRest { .. } => {
            NodeChangeOutcome::RolledBack
        }
        ChangeError::Stuck { .. } => NodeChangeOutcome::Failed,
        _ => NodeChangeOutcome::Refused,
    };
    NodeChange::new(&subject.node, outcome)
        .with_reason(error_with_suggestion(error, &subject.offer))
}

impl RemoteTransaction<'_> {
    /// Of a trial: how its command ended.
    pub(super) fn ended(&self) -> Option<&TryCommandResult> {
        self.armed.ended.as_ref()
    }

    /// When the node rolls back by itself.
    pub(super) fn until(&self) -> Instant {
        self.until
    }

    /// Whether the node is reached over a new connection, and all that answered before answers there.
    pub(super) fn check(&mut self, progress: &dyn Fn(NodeStage)) -> Result<(), String> {
        let left = self.until.saturating_duration_since(Instant::now());
        let end = Instant::now() + self.limits.settle.min(left / 2);
        loop {
            let looked = self.look(progress);
            if looked.is_ok() || Instant::now() + self.limits.pause >= end {
                return looked;
            }
            thread::sleep(self.limits.pause);
        }
    }

    fn look(&mut self, progress: &dyn Fn(NodeStage)) -> Result<(), String> {
        let connector = &self.subject.connector;
        let mut fresh = match self.fresh.take() {
            Some(fresh) => fresh,
            None => connector
                .fresh(self.limits.connect, progress)
                .map_err(|error| format!("a new connection to it failed: {}", error.line()))?,
        };
        let reached = probe_again(fresh.as_mut(), &self.kept, &self.limits, progress);
        let (_, failed) = reached.map_err(|error| error.to_string())?;
        self.fresh = Some(fresh);
        if !failed.is_empty() {
            return Err(format!(
                "it reached this before and does not any more: {}",
                failed.join(", ")
            ));
        }
        match &mut self.witness {
            Some(witness) => witness.check(&self.limits, progress),
            None => Ok(()),
        }
    }

    /// Keeps it. Where that fails, it is rolled back.
    pub(super) fn confirm(mut self, progress: &dyn Fn(NodeStage)) -> NodeChange {
        let Some(mut fresh) = self.fresh.take() else {
            return self.roll_back("no new connection was opened", progress);
        };
        let question = ChangeRequest::Confirm {
            transaction: self.armed.transaction.clone(),
        };
        self.confirming = true;
        let limits = self.limits;
        match call_change_when_free(fresh.as_mut(), &question, limits.answer, &limits, progress) {
            Ok(ChangeReply::Confirmed) => {
                self.subject.connector.keep(fresh);
                let mut change = self.end(NodeChangeOutcome::Confirmed);
                change.seconds = Some(self.began.elapsed().as_secs());
                change
            }
            Err(ChangeCallError::Refused(error @ ChangeError::NotOpen { .. })) => self
                .end(NodeChangeOutcome::RolledBack)
                .with_reason(format!("it could not be confirmed: {error}")),
            answer => {
                let error = answer.err().unwrap_or_else(ChangeCallError::wrong_answer);
                if matches!(error, ChangeCallError::Refused(_)) {
                    self.fresh = Some(fresh);
                }
                self.roll_back(&format!("confirming it failed: {error}"), progress)
            }
        }
    }

    /// At once, over whichever connection works.
    pub(super) fn roll_back(mut self, why: &str, progress: &dyn Fn(NodeStage)) -> NodeChange {
        let question = ChangeRequest::Rollback {
            transaction: Some(self.armed.transaction.clone()),
            only: Some(vec![self.armed.transaction.clone()]),
            force: true,
            why: Some(why.to_owned()),
        };
        for over in [
            RollbackOver::Fresh,
            RollbackOver::First,
            RollbackOver::Another,
        ] {
            let Some(session) = self.take(over, progress) else {
                continue;
            };
            let limits = &self.limits;
            match call_change_when_free(
                session.as_ref(),
                &question,
                limits.rollback,
                limits,
                progress,
            ) {
                Ok(ChangeReply::RolledBack(report)) => {
                    self.notes.extend(remarks(&report));
                    return self.end(NodeChangeOutcome::RolledBack).with_reason(why);
                }
                Ok(ChangeReply::Nothing)
                | Err(ChangeCallError::Refused(ChangeError::NotOpen { .. })) => {
                    return self.end(NodeChangeOutcome::RolledBack).with_reason(why);
                }
                Err(ChangeCallError::Refused(error)) => {
                    let why = format!("{why}; rolling it back failed: {error}");
                    return self.end(NodeChangeOutcome::Failed).with_reason(why);
                }
                Ok(_) | Err(ChangeCallError::Unreachable(_)) => {}
            }
        }
        let left = self.until.saturating_duration_since(Instant::now());
        let left = left.as_secs();
        let unless = if self.confirming {
            let status = self.subject.offer.command(CommandVerb::Status);
            format!(", unless the confirmation came through: {status} tells")
        } else {
            String::new()
        };
        let why = format!(
            "{why}; no connection to it works, so it rolls back by itself within {left} s{unless}"
        );
        self.end(NodeChangeOutcome::RollingBack).with_reason(why)
    }

    fn take(
        &mut self,
        over: RollbackOver,
        progress: &dyn Fn(NodeStage),
    ) -> Option<Box<dyn Session>> {
        let connector = &self.subject.connector;
        match over {
            RollbackOver::Fresh => self.fresh.take(),
            RollbackOver::First => self.first.take(),
            RollbackOver::Another => connector.fresh(self.limits.connect, progress).ok(),
        }
    }

    fn end(&mut self, outcome: NodeChangeOutcome) -> NodeChange {
        if let Some(witness) = self.witness.take() {
            witness.release_session();
        }
        let mut change = NodeChange::new(&self.subject.node, outcome);
        change.transaction = Some(self.armed.transaction.clone());
        change.notes = std::mem::take(&mut self.notes);
        change
    }
}

/// What a person should know of a rollback.
pub(super) fn remarks(report: &RollbackReport) -> impl Iterator<Item = String> {
    let kept = report.kept.iter().map(|edit| format!("kept: {edit}"));
    let left = report.left.iter().map(|what| format!("left: {what}"));
    kept.chain(left)
}
