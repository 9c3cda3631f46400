//! A node that was asked for a change, or for the way back, and fell silent: its journal says what became of it.

use std::{thread, time::Instant};

use crosstie_model::{
    change::{Ask, Changed, NodeStatus, State, TransactionStatus},
    word,
};
use crosstie_reach::{Session, Stage};
use crosstie_report::{
    change::{Change, Outcome},
    rollback::RollbackNode,
};

use super::{
    ask::{AskError, Limits, ask, ask_when_free},
    transaction::{Subject, remarks},
};
use crate::Connector;

/// Over a new connection: what `run` left open is put back, and nothing that another controller began.
pub(super) fn look_after(
    subject: &Subject,
    run: &str,
    trouble: &AskError,
    limits: Limits,
    progress: &dyn Fn(Stage),
) -> Change {
    let change = |outcome| Change::new(&subject.node, outcome);
    let Some((session, status)) = status(subject.connector.as_ref(), limits, progress) else {
        return change(Outcome::GoingBack).because(format!(
            "{trouble}; no connection to it works, so it goes back by itself"
        ));
    };
    let mut newest_first = status.transactions.iter().rev();
    let Some(own) = newest_first.find(|one| one.run.as_deref() == Some(run)) else {
        return change(Outcome::Failed).because(format!("{trouble}; nothing was changed"));
    };
    let mut changed = match own.state {
        State::Confirmed => {
            return change(Outcome::Failed).because(format!("{trouble}; yet it is confirmed"));
        }
        State::RolledBack => {
            let why = own.why.as_deref().unwrap_or("it went back by itself");
            change(Outcome::RolledBack).because(format!("{trouble}; {why}"))
        }
        _ => {
            let question = Ask::Rollback {
                transaction: Some(own.id.clone()),
                only: Some(vec![own.id.clone()]),
                force: true,
            };
            let node = &subject.node;
            back(session.as_ref(), &question, trouble, node, limits, progress)
        }
    };
    changed.transaction = Some(own.id.clone());
    changed
}

/// A way back that fell silent is begun again where it was; the node's guard would do so too, but minutes later.
pub(super) fn go_on(
    connector: &dyn Connector,
    part: &RollbackNode,
    question: &Ask,
    trouble: &AskError,
    limits: Limits,
    progress: &dyn Fn(Stage),
) -> Change {
    let is_part = |id: &str| part.transactions.iter().any(|one| one.id == id);
    let has_begun = |one: &TransactionStatus| {
        is_part(&one.id) && matches!(one.state, State::RollingBack | State::RolledBack)
    };
    let found = status(connector, limits, progress);
    let found = found.filter(|(_, status)| status.transactions.iter().any(has_begun));
    let Some((session, _)) = found else {
        let node = connector.name();
        let why = format!(
            "{trouble}; see how it stands: crosstie status {}",
            word(node)
        );
        return Change::new(node, Outcome::Failed).because(why);
    };
    let name = connector.name();
    let mut changed = back(session.as_ref(), question, trouble, name, limits, progress);
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

fn back(
    session: &dyn Session,
    question: &Ask,
    trouble: &AskError,
    node: &str,
    limits: Limits,
    progress: &dyn Fn(Stage),
) -> Change {
    match ask_when_free(session, question, limits.back, &limits, progress) {
        Ok(Changed::RolledBack(undone)) => {
            let mut change = Change::new(node, Outcome::RolledBack).because(trouble.to_string());
            change.notes.extend(remarks(&undone));
            change
        }
        Ok(Changed::Nothing) => Change::new(node, Outcome::RolledBack).because(trouble.to_string()),
        Ok(_) => Change::new(node, Outcome::GoingBack).because(trouble.to_string()),
        Err(also) => Change::new(node, Outcome::GoingBack).because(format!("{trouble}; {also}")),
    }
}
