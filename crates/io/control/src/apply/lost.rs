//! A node that was asked for a change, or for a rollback, and fell silent: its journal says what became of it.

use std::{thread, time::Instant};

use crosstie_model::change::{Ask, Changed, Kind, NodeStatus, State, TransactionStatus};
use crosstie_reach::{Session, Stage};
use crosstie_report::{
    change::{Change, Outcome},
    offer::Verb,
    rollback::RollbackNode,
};

use super::{
    ask::{AskError, Limits, ask, ask_when_free},
    transaction::{Subject, remarks},
    undo::Way,
};
use crate::Connector;

/// Over a new connection: what `run` left open is rolled back, and nothing that another controller began.
pub(super) fn settle_change(
    subject: &Subject,
    run: &str,
    error: &AskError,
    limits: Limits,
    progress: &dyn Fn(Stage),
) -> Change {
    let change = |outcome| Change::new(&subject.node, outcome);
    let Some((session, status)) = status(subject.connector.as_ref(), limits, progress) else {
        return change(Outcome::GoingBack).because(format!(
            "{error}; no connection to it works, so it goes back by itself"
        ));
    };
    let mut newest_first = status.transactions.iter().rev();
    let Some(own) = newest_first.find(|one| one.run.as_deref() == Some(run)) else {
        return change(Outcome::Failed).because(format!("{error}; nothing was changed"));
    };
    let mut changed = match own.state {
        State::Confirmed => {
            return change(Outcome::Failed).because(format!("{error}; yet it is confirmed"));
        }
        State::RolledBack => {
            let why = own.why.as_deref().unwrap_or("it was not confirmed");
            change(Outcome::RolledBack).because(match own.kind {
                Kind::Try => format!(
                    "the command cut the connection; the node went back by itself ({error}; {why})"
                ),
                Kind::Apply => format!("{error}; the node went back by itself: {why}"),
            })
        }
        _ => {
            let question = Ask::Rollback {
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
    way: &Way<'_>,
    part: &RollbackNode,
    question: &Ask,
    error: &AskError,
) -> Change {
    let Way {
        connector,
        offer,
        limits,
        progress,
    } = *way;
    let is_part = |id: &str| part.transactions.iter().any(|one| one.id == id);
    let has_begun = |one: &TransactionStatus| {
        is_part(&one.id) && matches!(one.state, State::RollingBack | State::RolledBack)
    };
    let found = status(connector, limits, progress);
    let found = found.filter(|(_, status)| status.transactions.iter().any(has_begun));
    let Some((session, _)) = found else {
        let node = connector.name();
        let offer = offer.about([node]);
        let status = offer.command(Verb::Status);
        let why = format!("{error}; see how it stands: {status}");
        return Change::new(node, Outcome::Failed).because(why);
    };
    let name = connector.name();
    let mut changed = roll_back(session.as_ref(), question, error, name, limits, progress);
    changed.transaction = part.transactions.last().map(|one| one.id.clone());
    changed
}

fn status(
    connector: &dyn Connector,
    limits: Limits,
    progress: &dyn Fn(Stage),
) -> Option<(Box<dyn Session>, NodeStatus)> {
    let end = Instant::now() + limits.settle;
    loop {
        if let Ok(session) = connector.fresh(limits.connect, progress)
            && let Ok(Changed::Status(status)) =
                ask(session.as_ref(), &Ask::Status, limits.answer, progress)
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
    question: &Ask,
    error: &AskError,
    node: &str,
    limits: Limits,
    progress: &dyn Fn(Stage),
) -> Change {
    match ask_when_free(session, question, limits.rollback, &limits, progress) {
        Ok(Changed::RolledBack(undone)) => {
            let mut change = Change::new(node, Outcome::RolledBack).because(error.to_string());
            change.notes.extend(remarks(&undone));
            change
        }
        Ok(Changed::Nothing) => Change::new(node, Outcome::RolledBack).because(error.to_string()),
        Ok(_) => Change::new(node, Outcome::GoingBack).because(error.to_string()),
        Err(also) => Change::new(node, Outcome::GoingBack).because(format!("{error}; {also}")),
    }
}
