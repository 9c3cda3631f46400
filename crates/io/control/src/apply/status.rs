//! What was changed on each node, by its own journals.

use crosstie_agent::NodeCalls;
use crosstie_model::change::{ChangeReply, ChangeRequest, NodeChangeStatus};
use crosstie_reach::{NodeStage, Session, SessionError};
use crosstie_report::status::{StatusNode, StatusReport};

use super::{choose_run::NodeStatusReply, node_calls::ApplyTimeouts};
use crate::{Fleet, NodeError, RequestedTargets, TargetsError};

/// A node is not believed to have much to say.
const MAX_ENTRIES: usize = 1000;

pub fn status(targets: &RequestedTargets) -> Result<StatusReport, TargetsError> {
    let (_, fleet) = targets.find_live(true)?;
    let nodes = statuses(&fleet).into_iter().map(|(name, mut answer)| {
        if let Ok(status) = &mut answer {
            status.transactions.truncate(MAX_ENTRIES);
            status.drift.truncate(MAX_ENTRIES);
        }
        StatusNode::new(&name, answer.map_err(|error| error.line()))
    });
    Ok(StatusReport {
        nodes: nodes.collect(),
    })
}

pub(super) fn statuses(fleet: &Fleet) -> Vec<NodeStatusReply> {
    fleet.call(ApplyTimeouts::default().answer, |_, session, progress| {
        status_of(session, progress)
    })
}

pub(crate) fn status_of(
    session: &dyn Session,
    progress: &dyn Fn(NodeStage),
) -> Result<NodeChangeStatus, NodeError> {
    match session.change(
        &ChangeRequest::Status,
        ApplyTimeouts::default().answer,
        progress,
    )? {
        ChangeReply::Status(status) => Ok(status),
        _ => Err(SessionError::WrongAnswer.into()),
    }
}
