//! What was changed on each node, by its own journals.

use crosstie_agent::NodeCalls;
use crosstie_model::change::{Ask, Changed, NodeStatus};
use crosstie_reach::{Session, SessionError, Stage};
use crosstie_report::status::{Node, Status};

use super::{ask::Limits, choose::Asked};
use crate::{Fleet, NodeError, Targets, TargetsError};

/// A node is not believed to have much to say.
const MOST: usize = 1000;

pub fn status(targets: &Targets) -> Result<Status, TargetsError> {
    let (_, fleet) = targets.find_live(true)?;
    let nodes = statuses(&fleet).into_iter().map(|(name, mut answer)| {
        if let Ok(status) = &mut answer {
            status.transactions.truncate(MOST);
            status.drift.truncate(MOST);
        }
        Node::new(&name, answer.map_err(|error| error.line()))
    });
    Ok(Status {
        nodes: nodes.collect(),
    })
}

pub(super) fn statuses(fleet: &Fleet) -> Vec<Asked> {
    fleet.call(Limits::default().answer, |_, session, progress| {
        status_of(session, progress)
    })
}

pub(crate) fn status_of(
    session: &dyn Session,
    progress: &dyn Fn(Stage),
) -> Result<NodeStatus, NodeError> {
    match session.change(&Ask::Status, Limits::default().answer, progress)? {
        Changed::Status(status) => Ok(status),
        _ => Err(SessionError::WrongAnswer.into()),
    }
}
