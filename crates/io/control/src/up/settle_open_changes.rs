//! What an earlier run, or somebody else, left open on a node: no change is begun on top of it.

use std::{
    thread,
    time::{Duration, Instant},
};

use crosstie_agent::{CallError, NodeCalls};
use crosstie_model::change::{ChangeError, ChangeReply, ChangeRequest, TransactionStatus};
use crosstie_reach::{NodeStage, Session, SessionError};

use crate::{
    NodeError,
    apply::{ApplyTimeouts, status_of},
};

/// How long another's change is waited for, and a rollback.
#[derive(Debug, Clone, Copy)]
pub(super) struct SettleTimeouts {
    pub(super) last: Duration,
    pub(super) pause: Duration,
}

impl Default for SettleTimeouts {
    fn default() -> Self {
        Self {
            last: Duration::from_secs(180),
            pause: Duration::from_secs(1),
        }
    }
}

/// Nothing is open any more when this returns; what was done for it, in words. A change of our own that was cut short
/// (`ours` is its run) is rolled back at once, another's goes its way.
pub(super) fn settle_interrupted(
    session: &dyn Session,
    ours: Option<&str>,
    patience: SettleTimeouts,
    progress: &dyn Fn(NodeStage),
) -> Result<Option<String>, NodeError> {
    let end = Instant::now() + patience.last;
    let mut done = None;
    loop {
        let Some(open) = open(session, progress)? else {
            return Ok(done);
        };
        if open.run.is_some() && open.run.as_deref() == ours {
            match roll_back(session, &open, progress) {
                Ok(()) => {
                    done = Some("an earlier run was cut short, and was rolled back".to_owned());
                }
                Err(CallError::Call(ChangeError::Busy { .. })) => {}
                Err(error) => return Err(error.into()),
            }
        } else {
            done = Some(format!("'{}' was still open, and is settled", open.what));
        }
        if Instant::now() + patience.pause >= end {
            let (transaction, state) = (open.id, open.state);
            return Err(CallError::Call(ChangeError::Open { transaction, state }).into());
        }
        progress(NodeStage::Waiting);
        thread::sleep(patience.pause);
    }
}

fn open(
    session: &dyn Session,
    progress: &dyn Fn(NodeStage),
) -> Result<Option<TransactionStatus>, NodeError> {
    let status = status_of(session, progress)?;
    let mut newest_first = status.transactions.into_iter().rev();
    Ok(newest_first.find(|one| one.state.is_open()))
}

fn roll_back(
    session: &dyn Session,
    open: &TransactionStatus,
    progress: &dyn Fn(NodeStage),
) -> Result<(), CallError<ChangeError>> {
    let ask = ChangeRequest::Rollback {
        transaction: Some(open.id.clone()),
        only: Some(vec![open.id.clone()]),
        force: true,
        why: Some("the run of `crosstie up` that began it was cut short".to_owned()),
    };
    match session.change(&ask, ApplyTimeouts::default().rollback, progress) {
        Ok(ChangeReply::RolledBack(_) | ChangeReply::Nothing)
        | Err(CallError::Call(ChangeError::NotOpen { .. })) => Ok(()),
        Ok(_) => Err(SessionError::WrongAnswer.into()),
        Err(error) => Err(error),
    }
}
