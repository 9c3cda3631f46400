//! A node that was asked for a change, or for a rollback, and fell silent: its journal says what became of it.

use std::{thread, time::Instant};

use crosstie_model::change::{
    ChangeReply, ChangeRequest, NodeChangeStatus, TransactionKind, TransactionState,
    TransactionStatus,
};
use crosstie_reach::{NodeStage, Session};
use crosstie_report::{
    change::{NodeChange, NodeChangeOutcome},
    rollback::NodeRollbackPlan,
    suggested_command::CommandVerb,
};

use super::{
    node_calls::{ApplyTimeouts, ChangeCallError, call_change, call_change_when_free},
    rollback::RollbackRoute,
    transaction::{ChangeTarget, remarks},
};
use crate::Connector;

/// Over a new connection: what `run` left open is rolled back, and nothing that another controller began.
pub(super) fn resolve_unreachable_change(
    subject: &ChangeTarget,
    run: &str,
    error: &ChangeCallError,
    limits: ApplyTimeouts,
    progress: &dyn Fn(NodeStage),
) -> NodeChange {
    let change = |outcome| NodeChange::new(&subject.node, outcome);
    let Some((session, status)) = status(subject.connector.as_ref(), limits, progress) else {
        return change(NodeChangeOutcome::RollingBack).with_reason(format!(
            "{error}; no connection to it works, so it rolls back by itself"
        ));
    };
    let mut newest_first = status.transactions.iter().rev();
    let Some(own) = newest_first.find(|one| one.run.as_deref() == Some(run)) else {
        return change(NodeChangeOutcome::Failed)
            .with_reason(format!("{error}; nothing was changed"));
    };
    let mut changed = match own.state {
        TransactionState::Confirmed => {
            return change(NodeChangeOutcome::Failed)
                .with_reason(format!("{error}; yet it is confirmed"));
        }
        TransactionState::RolledBack => {
            let why = own.why.as_deref().unwrap_or("it was not confirmed");
            change(NodeChangeOutcome::RolledBack).with_reason(match own.kind {
                TransactionKind::Try => format!(
                    "the command cut the connection; the node rolled back by itself ({error}; {why})"
                ),
                TransactionKind::Apply => format!("{error}; the node rolled back by itself: {why}"),
            })
        }
        _ => {
            let question = ChangeRequest::Rollback {
                transaction: Some(own.id.clone()),
                only: Some(vec![own.id.clone()]),
                force: true,
                why: Some("its controller lost it before it was confirmed".to_owned()),
            };
            let node = &subject.node;
            roll_back(session.as_ref(), &question, error, node, limits, progress)
        }
    };
    changed.transaction = Some(own.id.clone());
    changed
}

/// A rollback that fell silent is begun again where it was; the node's guard would do so too, but minutes later.
pub(super) fn resume_rollback(
    way: &RollbackRoute<'_>,
    part: &NodeRollbackPlan,
    question: &ChangeRequest,
    error: &ChangeCallError,
) -> NodeChange {
    let RollbackRoute {
        connector,
        offer,
        limits,
        progress,
    } = *way;
    let is_part = |id: &str| part.transactions.iter().any(|one| one.id == id);
    let has_begun = |one: &TransactionStatus| {
        is_part(&one.id)
            && matches!(
                one.state,
                TransactionState::RollingBack | TransactionState::RolledBack
            )
    };
    let found = status(connector, limits, progress);
    let found = found.filter(|(_, status)| status.transactions.iter().any(has_begun));
    let Some((session, _)) = found else {
        let node = connector.name();
        let offer = offer.for_nodes([node]);
        let status = offer.command(CommandVerb::Status);
        let why = format!("{error}; see how it stands: {status}");
        return NodeChange::new(node, NodeChangeOutcome::Failed).with_reason(why);
    };
    let name = connector.name();
    let mut changed = roll_back(session.as_ref(), question, error, name, limits, progress);
    changed.transaction = part.transactions.last().map(|one| one.id.clone());
    changed
}

fn status(
    connector: &dyn Connector,
    limits: ApplyTimeouts,
    progress: &dyn Fn(NodeStage),
) -> Option<(Box<dyn Session>, NodeChangeStatus)> {
    let end = Instant::now() + limits.settle;
    loop {
        if let Ok(session) = connector.fresh(limits.connect, progress)
            && let Ok(ChangeReply::Status(status)) = call_change(
                session.as_ref(),
                &ChangeRequest::Status,
                limits.answer,
                progress,
            )
        {
            return Some((session, status));
        }
        if Instant::now() + limits.pause >= end {
            return None;
        }
        thread::sleep(limits.pause);
    }
}

fn roll_back(
    session: &dyn Session,
    question: &ChangeRequest,
    error: &ChangeCallError,
    node: &str,
    limits: ApplyTimeouts,
    progress: &dyn Fn(NodeStage),
) -> NodeChange {
    match call_change_when_free(session, question, limits.rollback, &limits, progress) {
        Ok(ChangeReply::RolledBack(report)) => {
            let mut change =
                NodeChange::new(node, NodeChangeOutcome::RolledBack).with_reason(error.to_string());
            change.notes.extend(remarks(&report));
            change
        }
        Ok(ChangeReply::Nothing) => {
            NodeChange::new(node, NodeChangeOutcome::RolledBack).with_reason(error.to_string())
        }
        Ok(_) => {
            NodeChange::new(node, NodeChangeOutcome::RollingBack).with_reason(error.to_string())
        }
        Err(also) => NodeChange::new(node, NodeChangeOutcome::RollingBack)
            .with_reason(format!("{error}; {also}")),
    }
}
