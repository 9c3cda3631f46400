//! One question to a node that is changed.

use std::{
    thread,
    time::{Duration, Instant},
};

use crosstie_agent::{CallError, NodeCalls};
use crosstie_model::change::{ChangeError, ChangeReply, ChangeRequest, ReachabilityProbe};
use crosstie_reach::{NodeStage, Session, SessionError};
use crosstie_report::suggested_command::{CommandContext, CommandVerb};

use crate::NodeError;

/// How long each thing may take.
#[derive(Debug, Clone, Copy)]
pub struct ApplyTimeouts {
    /// To probe, to confirm, and to say how things stand.
    pub answer: Duration,
    /// For a new connection.
    pub connect: Duration,
    /// To roll everything back.
    pub rollback: Duration,
    /// Links and leases may take a moment to come back: nobody is rolled back before it has passed.
    pub settle: Duration,
    /// Between two tries.
    pub pause: Duration,
}

impl Default for ApplyTimeouts {
    fn default() -> Self {
        Self {
            // A loaded or emulated machine takes its time to start an agent; the guard's time is the true limit.
            answer: Duration::from_secs(60),
            connect: Duration::from_secs(45),
            rollback: Duration::from_secs(200),
            settle: Duration::from_secs(60),
            pause: Duration::from_secs(1),
        }
    }
}

/// Why there is no good answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum ChangeCallError {
    /// The node says so.
    #[error("{0}")]
    Refused(ChangeError),
    /// Nobody knows what the node did.
    #[error("{}", .0.line())]
    Unreachable(NodeError),
}

impl ChangeCallError {
    /// A node that answers another question is not understood.
    pub(super) fn wrong_answer() -> Self {
        Self::Unreachable(SessionError::WrongAnswer.into())
    }
}

/// A node knows what would help, and not how it is reached.
pub(super) fn error_with_suggestion(error: &ChangeError, offer: &CommandContext) -> String {
    let verb = match error {
        ChangeError::Open { .. } | ChangeError::Newer { .. } => CommandVerb::Rollback,
        ChangeError::Stale { .. } => CommandVerb::Plan,
        other => return other.to_string(),
    };
    format!("{error}: {}", offer.command(verb))
}

pub(super) fn call_change(
    session: &dyn Session,
    ask: &ChangeRequest,
    deadline: Duration,
    progress: &dyn Fn(NodeStage),
) -> Result<ChangeReply, ChangeCallError> {
    let answer = session.change(ask, deadline, progress);
    answer.map_err(|error| match error {
        CallError::Call(error) => ChangeCallError::Refused(error),
        CallError::Session(error) => ChangeCallError::Unreachable(error.into()),
    })
}

/// Asks again for as long as the node's guard, or another command, is at work there.
pub(super) fn call_change_when_free(
    session: &dyn Session,
    question: &ChangeRequest,
    deadline: Duration,
    limits: &ApplyTimeouts,
    progress: &dyn Fn(NodeStage),
) -> Result<ChangeReply, ChangeCallError> {
    let end = Instant::now() + limits.rollback;
    loop {
        let answer = call_change(session, question, deadline, progress);
        let busy = matches!(
            answer,
            Err(ChangeCallError::Refused(ChangeError::Busy { .. }))
        );
        if !busy || Instant::now() + limits.pause >= end {
            return answer;
        }
        progress(NodeStage::Waiting);
        thread::sleep(limits.pause);
    }
}

/// Of these probes, those that are answered, and those that are not with the reason.
pub(super) fn probe_again(
    session: &dyn Session,
    probes: &[ReachabilityProbe],
    limits: &ApplyTimeouts,
    progress: &dyn Fn(NodeStage),
) -> Result<(Vec<ReachabilityProbe>, Vec<String>), ChangeCallError> {
    if probes.is_empty() {
        return Ok((Vec::new(), Vec::new()));
    }
    let answers = session.reach(probes, limits.answer, progress);
    let answers = answers.map_err(|error| ChangeCallError::Unreachable(error.into()))?;
    let (mut passed, mut failed) = (Vec::new(), Vec::new());
    for probe in probes {
        let answer = answers.iter().find(|answer| answer.probe == *probe);
        match answer.map(|answer| &answer.problem) {
            Some(None) => passed.push(probe.clone()),
            Some(Some(why)) => failed.push(format!("{} ({why})", probe_text(probe))),
            None => failed.push(probe_text(probe)),
        }
    }
    Ok((passed, failed))
}

/// For a sentence.
fn probe_text(probe: &ReachabilityProbe) -> String {
    match probe {
        ReachabilityProbe::Ping {
            address, interface, ..
        } => match interface {
            Some(interface) => format!("{address} through {interface}"),
            None => address.to_string(),
        },
        ReachabilityProbe::Greeting { address } => format!("the ssh server at {address}"),
    }
}
