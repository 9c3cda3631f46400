//! A node that was asked for a change, or for the way back, and fell silent: its journal says what became of it.

use std::{thread, time::Instant};

use crosstie_model::{
    change::{Ask, Changed, NodeStatus, State, TransactionStatus},
    word,
};
use crosstie_reach::{Session, Stage};
use crosstie_report::change::{Change, Outcome};

use super::{
    ask::{Limits, Trouble, ask, ask_when_free},
    transaction::{Subject, remarks},
};
use crate::nodes::Door;

/// Over a new connection: whatever is open is put back.
pub(super) fn look_after(
    subject: &Subject,
    trouble: &Trouble,
    limits: Limits,
    progress: &dyn Fn(Stage),
) -> Change {
    let change = |outcome| Change::new(&subject.node, outcome);
    let Some((mut session, status)) = status(subject.door.as_ref(), limits, progress) else {
        return change(Outcome::GoingBack).because(format!(
            "{trouble}; no connection to it works, so it goes back by itself"
        ));
    };
    let Some(last) = status.transactions.last() else {
        return change(Outcome::Failed).because(format!("{trouble}; nothing was changed"));
    };
    let mut changed = match last.state {
        State::Confirmed => {
            return change(Outcome::Failed).because(format!("{trouble}; nothing was changed"));
        }
        State::RolledBack => {
            let why = last.why.as_deref().unwrap_or("it went back by itself");
            change(Outcome::RolledBack).because(format!("{trouble}; {why}"))
        }
        _ => back(
            session.as_mut(),
            last,
            trouble,
            &subject.node,
            limits,
            progress,
        ),
    };
    changed.transaction = Some(last.id.clone());
    changed
}

/// A way back that fell silent is begun again where it was; the node's guard would do so too, but minutes later.
pub(super) fn go_on(
    door: &dyn Door,
    trouble: &Trouble,
    limits: Limits,
    progress: &dyn Fn(Stage),
) -> Change {
    let found = status(door, limits, progress).and_then(|(session, status)| {
        let mut all = status.transactions.into_iter();
        let begun = all.find(|one| one.state == State::RollingBack)?;
        Some((session, begun))
    });
    let Some((mut session, begun)) = found else {
        let node = door.name();
        let why = format!(
            "{trouble}; see how it stands: crosstie status {}",
            word(node)
        );
        return Change::new(node, Outcome::Failed).because(why);
    };
    let mut changed = back(
        session.as_mut(),
        &begun,
        trouble,
        door.name(),
        limits,
        progress,
    );
    changed.transaction = Some(begun.id);
    changed
}

fn status(
    door: &dyn Door,
    limits: Limits,
    progress: &dyn Fn(Stage),
) -> Option<(Box<dyn Session>, NodeStatus)> {
    let end = Instant::now() + limits.settle;
    loop {
        if let Ok(mut session) = door.fresh(limits.connect, progress)
            && let Ok(Changed::Status(status)) =
                ask(session.as_mut(), &Ask::Status, limits.answer, progress)
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
    session: &mut dyn Session,
    open: &TransactionStatus,
    trouble: &Trouble,
    node: &str,
    limits: Limits,
    progress: &dyn Fn(Stage),
) -> Change {
    let question = Ask::Rollback {
        transaction: Some(open.id.clone()),
        force: true,
    };
    match ask_when_free(session, &question, limits.back, &limits, progress) {
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
