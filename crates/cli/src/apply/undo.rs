//! `crosstie rollback` and `crosstie uninstall`.

use std::process::ExitCode;

use clap::ColorChoice;
use crosstie_model::change::{Ask, ChangeError, Changed};
use crosstie_reach::BOUND;
use crosstie_report::change::{Change, Changes, Outcome};

use super::{
    args::{Rollback, Undo, Uninstall},
    ask::{Limits, Trouble, ask},
    lost, report,
    transaction::remarks,
};
use crate::{targets, terminal};

pub(crate) fn rollback(arguments: &Rollback, colour: ColorChoice) -> anyhow::Result<ExitCode> {
    let undo = &arguments.undo;
    let ask = Ask::Rollback {
        transaction: None,
        force: undo.force,
    };
    run(undo, &ask, "undo the last change", colour)
}

pub(crate) fn uninstall(arguments: &Uninstall, colour: ColorChoice) -> anyhow::Result<ExitCode> {
    let undo = &arguments.undo;
    let ask = Ask::Uninstall { force: undo.force };
    run(
        undo,
        &ask,
        "undo every change and remove this tool's files",
        colour,
    )
}

fn run(undo: &Undo, order: &Ask, what: &str, colour: ColorChoice) -> anyhow::Result<ExitCode> {
    let fleet = targets::existing(&undo.chosen.targets(&undo.root), false, colour)?.1;
    terminal::is_there_or(undo.yes, what)?;
    let question = format!("On {}: {what}?", fleet.names().join(", "));
    if !undo.yes && !terminal::approve(&question) {
        anyhow::bail!("nothing was changed");
    }
    let (order, limits) = (order.clone(), Limits::default());
    let (doors, twice) = (fleet.doors(), 2 * limits.back + limits.settle);
    let answers = fleet.call_all(
        BOUND,
        fleet.patience(twice),
        move |index, session, progress| {
            let door = doors[index].as_ref();
            let lost = match ask(session, &order, limits.back, progress) {
                Err(lost @ Trouble::Contact(_)) => lost,
                answer => return Ok(outcome(door.name(), answer)),
            };
            Ok(match order {
                Ask::Rollback { .. } => lost::go_on(door, &lost, limits, progress),
                _ => outcome(door.name(), Err(lost)),
            })
        },
    );
    let nodes = answers
        .into_iter()
        .map(|(name, change)| {
            change.unwrap_or_else(|why| Change::new(&name, Outcome::Failed).because(why))
        })
        .collect();
    report(&Changes { nodes }, true, undo.json, colour)
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
