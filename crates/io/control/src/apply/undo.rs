//! `crosstie rollback` and `crosstie uninstall`.

use crosstie_model::{
    change::{Ask, ChangeError, Changed},
    word,
};
use crosstie_reach::{Session, Stage};
use crosstie_report::{
    change::{Change, Changes, Outcome},
    offer::{Command, Offer, Verb},
    rollback::{RollbackNode, RollbackPlan},
};

use super::{
    ask::{AskError, Limits, ask, told},
    choose::{ChooseError, choose},
    lost,
    status::statuses,
    transaction::remarks,
};
use crate::{Connector, Consent, ConsentError, Event, Fleet, Question, Targets, TargetsError};

#[derive(Debug, thiserror::Error)]
pub enum UndoError {
    #[error(transparent)]
    Targets(#[from] TargetsError),
    #[error(transparent)]
    Consent(#[from] ConsentError),
    #[error("{reason}; {status} shows those that there are")]
    UnknownRun { reason: String, status: String },
    #[error(transparent)]
    Choose(#[from] ChooseError),
}

#[derive(Debug)]
pub struct UndoOptions {
    /// The run to roll back; the last one when left out.
    pub run: Option<String>,
    /// Also where somebody has edited a file since.
    pub force: bool,
}

/// What whoever presses Ctrl-C is told.
fn interrupted(offer: &Offer, finish: &Command<'_>) -> String {
    format!(
        "crosstie: interrupted; a node that had begun to roll back goes on by itself, others stay as they are.\n  \
         {}    tells which\n  {finish}    finishes it",
        offer.command(Verb::Status),
    )
}

fn question(ask: &str) -> Question<'_> {
    Question {
        text: "",
        ask,
        plan: None,
        until: None,
    }
}

/// Undoes a run wherever it is in force. All nodes are asked first.
pub fn rollback(
    targets: &Targets,
    options: &UndoOptions,
    consent: &Consent,
) -> Result<Changes, UndoError> {
    const WHAT: &str = "roll back the last run";
    let (_, fleet) = targets.find_live(false)?;
    consent.is_possible(WHAT)?;
    let named = options.run.as_deref();
    let offer = &fleet.options().offer;
    let plan = choose(&statuses(&fleet), named).map_err(|error| match error {
        ChooseError::Unknown { .. } => UndoError::UnknownRun {
            reason: error.to_string(),
            status: offer.command(Verb::Status).to_string(),
        },
        ChooseError::NoNewest { .. } => error.into(),
    })?;
    let observer = &fleet.options().observer;
    observer.observe(Event::RollbackPlanned(&plan));
    let nodes = match unsure(&plan, named) {
        Some(nodes) => nodes,
        None if plan.has_work() => {
            consent.ask(&question("Roll this back?"), WHAT)?;
            let told = fleet.options();
            let finish = told.offer.command(Verb::Rollback);
            let finish = finish.option("run", plan.run.as_deref());
            told.last_words(&interrupted(&told.offer, &finish));
            let nodes = undone(&fleet, &plan, options.force);
            told.last_words("");
            nodes
        }
        None => plan.nodes.iter().map(untouched).collect(),
    };
    let mut changes = Changes::new(nodes);
    changes.run.clone_from(&plan.run);
    changes.rollback = Some(plan);
    Ok(changes)
}

/// Undoes every change, and leaves nothing of ours on the nodes.
pub fn uninstall(
    targets: &Targets,
    options: &UndoOptions,
    consent: &Consent,
) -> Result<Changes, UndoError> {
    const WHAT: &str = "undo every change and remove this tool's files";
    let (_, fleet) = targets.find_live(false)?;
    consent.is_possible(WHAT)?;
    let on = match fleet.names().as_slice() {
        few if few.len() <= 2 => format!("Do this on {}?", few.join(" and ")),
        many => format!("Do this on {} nodes?", many.len()),
    };
    let question = Question {
        text: "Every change is undone, and all files of Crosstie's are removed.",
        ..question(&on)
    };
    consent.ask(&question, WHAT)?;
    let limits = Limits::default();
    let question = Ask::Uninstall {
        force: options.force,
    };
    let connectors = fleet.connectors();
    let offer = fleet.options().offer.clone();
    let finish = offer.command(Verb::Uninstall);
    fleet.options().last_words(&interrupted(&offer, &finish));
    let nodes = asked(&fleet, limits, move |index, session, progress| {
        let answer = ask(session, &question, limits.rollback, progress);
        outcome(connectors[index].name(), answer, &offer)
    });
    fleet.options().last_words("");
    Ok(Changes::new(nodes))
}

/// Where a node could not be asked and no run is named, the newest is not known, and nothing is undone.
pub(super) fn unsure(plan: &RollbackPlan, named: Option<&str>) -> Option<Vec<Change>> {
    let silent = plan.nodes.iter().find(|node| node.error.is_some())?;
    if named.is_some() {
        return None;
    }
    // It came from a node, and may be pasted.
    let run = word(plan.run.as_deref().unwrap_or("ID"));
    let why = format!(
        "{} could not be asked, and may have a newer run; pass --run {run} to roll that one back all the same",
        silent.node
    );
    let change = |node: &RollbackNode| match node.error {
        Some(_) => untouched(node),
        None => Change::new(&node.node, Outcome::NotBegun).because(&why),
    };
    Some(plan.nodes.iter().map(change).collect())
}

/// A node on which there is nothing to undo.
fn untouched(node: &RollbackNode) -> Change {
    match (&node.error, node.left_alone) {
        (Some(why), _) => Change::new(&node.node, Outcome::Failed).because(why),
        (None, why) => {
            let why = why.map_or("nothing to undo", |why| why.words());
            Change::new(&node.node, Outcome::Unchanged).because(why)
        }
    }
}

fn undone(fleet: &Fleet, plan: &RollbackPlan, force: bool) -> Vec<Change> {
    let limits = Limits::default();
    let (connectors, parts) = (fleet.connectors(), plan.nodes.clone());
    let offer = fleet.options().offer.clone();
    asked(fleet, limits, move |index, session, progress| {
        let way = Way {
            connector: connectors[index].as_ref(),
            offer: &offer,
            limits,
            progress,
        };
        undo_part(&way, session, &parts[index], force)
    })
}

/// Of every node, or why it was not asked.
fn asked(
    fleet: &Fleet,
    limits: Limits,
    work: impl Fn(usize, &dyn Session, &dyn Fn(Stage)) -> Change + Send + Sync + 'static,
) -> Vec<Change> {
    let twice = 2 * limits.rollback + limits.settle;
    let answers = fleet.call(twice, move |index, session, progress| {
        Ok(work(index, session, progress))
    });
    answers
        .into_iter()
        .map(|(name, change)| {
            change.unwrap_or_else(|error| Change::new(&name, Outcome::Failed).because(error.line()))
        })
        .collect()
}

/// How a node that rolls back is reached, and what a person is offered.
pub(super) struct Way<'a> {
    pub(super) connector: &'a dyn Connector,
    pub(super) offer: &'a Offer,
    pub(super) limits: Limits,
    pub(super) progress: &'a dyn Fn(Stage),
}

/// One node's part of a rollback: what was shown, and nothing else.
pub(super) fn undo_part(
    way: &Way<'_>,
    session: &dyn Session,
    part: &RollbackNode,
    force: bool,
) -> Change {
    let Some(oldest) = part.transactions.last() else {
        return untouched(part);
    };
    let ids = part.transactions.iter().map(|one| one.id.clone());
    let question = Ask::Rollback {
        transaction: Some(oldest.id.clone()),
        only: Some(ids.collect()),
        force,
        why: None,
    };
    match ask(session, &question, way.limits.rollback, way.progress) {
        Err(lost @ AskError::Contact(_)) => lost::resume_rollback(way, part, &question, &lost),
        answer => outcome(&part.node, answer, way.offer),
    }
}

fn outcome(name: &str, answer: Result<Changed, AskError>, offer: &Offer) -> Change {
    let change = |outcome| Change::new(name, outcome);
    match answer {
        Ok(Changed::RolledBack(back)) => {
            let mut change = change(Outcome::RolledBack);
            change.transaction = back.transactions.last().cloned();
            change.notes = remarks(&back).collect();
            change
        }
        Ok(Changed::Nothing) => change(Outcome::Unchanged).because("nothing to undo"),
        Ok(_) => change(Outcome::Failed).because(AskError::wrong_answer().to_string()),
        Err(AskError::Said(error @ (ChangeError::Stuck { .. } | ChangeError::NotRoot { .. }))) => {
            change(Outcome::Failed).because(told(&error, offer))
        }
        Err(AskError::Said(error)) => change(Outcome::Refused).because(told(&error, offer)),
        Err(AskError::Contact(error)) => change(Outcome::Failed).because(error.line()),
    }
}
