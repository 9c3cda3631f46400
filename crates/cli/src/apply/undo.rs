//! `crosstie rollback` and `crosstie uninstall`.

use std::process::ExitCode;

use clap::ColorChoice;
use crosstie_agent::NodeCalls;
use crosstie_doctor::word;
use crosstie_model::change::{Ask, ChangeError, Changed};
use crosstie_reach::{BOUND, Session, SessionError, Stage};
use crosstie_report::{
    change::{Change, Changes, Outcome},
    rollback::{RollbackNode, RollbackPlan, view},
};

use super::{
    args::{Rollback, Undo, Uninstall},
    ask::{Limits, Trouble, ask},
    choose::{Asked, choose},
    lost, report,
    transaction::remarks,
};
use crate::{
    nodes::{Door, Fleet},
    output, targets, terminal,
};

pub(crate) fn rollback(arguments: &Rollback, colour: ColorChoice) -> anyhow::Result<ExitCode> {
    let undo = &arguments.undo;
    let fleet = fleet(undo, "roll back the last run", colour)?;
    let named = arguments.run.as_deref();
    let plan = choose(&statuses(&fleet), named)?;
    show(&plan, undo.json, colour)?;
    let nodes = match unsure(&plan, named) {
        Some(nodes) => nodes,
        None if plan.has_work() => {
            approve(undo, "Roll this back?")?;
            undone(&fleet, &plan, undo.force)
        }
        None => plan.nodes.iter().map(untouched).collect(),
    };
    let mut changes = Changes::new(nodes);
    changes.run.clone_from(&plan.run);
    changes.rollback = Some(plan);
    report(&changes, true, undo.json, colour)
}

pub(crate) fn uninstall(arguments: &Uninstall, colour: ColorChoice) -> anyhow::Result<ExitCode> {
    let undo = &arguments.undo;
    let what = "undo every change and remove this tool's files";
    let fleet = fleet(undo, what, colour)?;
    approve(undo, &format!("On {}: {what}?", fleet.names().join(", ")))?;
    let limits = Limits::default();
    let question = Ask::Uninstall { force: undo.force };
    let doors = fleet.doors();
    let nodes = asked(&fleet, limits, move |index, session, progress| {
        let answer = ask(session, &question, limits.back, progress);
        outcome(doors[index].name(), answer)
    });
    report(&Changes::new(nodes), true, undo.json, colour)
}

fn fleet(undo: &Undo, what: &str, colour: ColorChoice) -> anyhow::Result<Fleet> {
    let (_, fleet) = targets::existing(&undo.chosen.targets(&undo.root), false, colour)?;
    terminal::is_there_or(undo.yes, what)?;
    Ok(fleet)
}

fn approve(undo: &Undo, question: &str) -> anyhow::Result<()> {
    if !undo.yes && !terminal::approve(question) {
        anyhow::bail!("nothing was changed");
    }
    Ok(())
}

fn statuses(fleet: &Fleet) -> Vec<Asked> {
    let limit = Limits::default().answer;
    fleet.call_all(
        BOUND,
        fleet.patience(limit),
        move |_, session, progress| match session.change(&Ask::Status, limit, progress)? {
            Changed::Status(status) => Ok(status),
            _ => Err(SessionError::WrongAnswer.into()),
        },
    )
}

/// The plan is data, unless JSON is.
fn show(plan: &RollbackPlan, json: bool, colour: ColorChoice) -> anyhow::Result<()> {
    let text = view(plan, output::palette(colour)) + "\n";
    if json {
        output::tell(&text);
    } else {
        output::print(&text)?;
    }
    Ok(())
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
    let (doors, parts) = (fleet.doors(), plan.nodes.clone());
    asked(fleet, limits, move |index, session, progress| {
        let door = doors[index].as_ref();
        undo_part(door, session, &parts[index], force, limits, progress)
    })
}

/// Of every node, or why it was not asked.
fn asked(
    fleet: &Fleet,
    limits: Limits,
    work: impl Fn(usize, &dyn Session, &dyn Fn(Stage)) -> Change + Send + Sync + 'static,
) -> Vec<Change> {
    let twice = 2 * limits.back + limits.settle;
    let answers = fleet.call_all(
        BOUND,
        fleet.patience(twice),
        move |index, session, progress| Ok(work(index, session, progress)),
    );
    answers
        .into_iter()
        .map(|(name, change)| {
            change.unwrap_or_else(|why| Change::new(&name, Outcome::Failed).because(why))
        })
        .collect()
}

/// One node's part of a rollback: what was shown, and nothing else.
pub(super) fn undo_part(
    door: &dyn Door,
    session: &dyn Session,
    part: &RollbackNode,
    force: bool,
    limits: Limits,
    progress: &dyn Fn(Stage),
) -> Change {
    let Some(oldest) = part.transactions.last() else {
        return untouched(part);
    };
    let ids = part.transactions.iter().map(|one| one.id.clone());
    let question = Ask::Rollback {
        transaction: Some(oldest.id.clone()),
        only: Some(ids.collect()),
        force,
    };
    match ask(session, &question, limits.back, progress) {
        Err(lost @ Trouble::Contact(_)) => {
            lost::go_on(door, part, &question, &lost, limits, progress)
        }
        answer => outcome(&part.node, answer),
    }
}

fn outcome(name: &str, answer: Result<Changed, Trouble>) -> Change {
    let change = |outcome| Change::new(name, outcome);
    match answer {
        Ok(Changed::RolledBack(back)) => {
            let mut change = change(Outcome::RolledBack);
            change.transaction = back.transactions.last().cloned();
            change.notes = remarks(&back).collect();
            change
        }
        Ok(Changed::Nothing) => change(Outcome::Unchanged).because("nothing to undo"),
        Ok(_) => change(Outcome::Failed).because(Trouble::odd().to_string()),
        Err(Trouble::Said(error @ (ChangeError::Stuck { .. } | ChangeError::NotRoot { .. }))) => {
            change(Outcome::Failed).because(error.to_string())
        }
        Err(Trouble::Said(error)) => change(Outcome::Refused).because(error.to_string()),
        Err(Trouble::Contact(why)) => change(Outcome::Failed).because(why),
    }
}
