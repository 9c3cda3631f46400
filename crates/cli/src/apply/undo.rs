//! `crosstie rollback` and `crosstie uninstall`.

use std::process::ExitCode;

use clap::ColorChoice;
use crosstie_model::change::{Ask, ChangeError, Changed};
use crosstie_reach::{BOUND, SessionError};
use crosstie_report::change::{Change, Changes, Outcome};

use super::{
    args::{Rollback, Undo, Uninstall},
    ask::Limits,
    report,
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

fn run(undo: &Undo, ask: &Ask, what: &str, colour: ColorChoice) -> anyhow::Result<ExitCode> {
    let fleet = targets::existing(&undo.chosen.targets(&undo.root), false, colour)?.1;
    terminal::is_there_or(undo.yes, what)?;
    let question = format!("On {}: {what}?", fleet.names().join(", "));
    if !undo.yes && !terminal::approve(&question) {
        anyhow::bail!("nothing was changed");
    }
    let (ask, back) = (ask.clone(), Limits::default().back);
    let answers =
        fleet.call_all(
            BOUND,
            fleet.patience(back),
            move |_, session, progress| match session.change(&ask, back, progress) {
                Err(SessionError::Change(error)) => Ok(Err(error)),
                answer => answer.map(Ok),
            },
        );
    let nodes = answers
        .into_iter()
        .map(|(name, answer)| outcome(&name, answer))
        .collect();
    report(&Changes { nodes }, true, undo.json, colour)
}

fn outcome(name: &str, answer: Result<Result<Changed, ChangeError>, String>) -> Change {
    let change = |outcome| Change::new(name, outcome);
    match answer {
        Ok(Ok(Changed::RolledBack(back))) => {
            let mut change = change(Outcome::RolledBack);
            change.transaction = back.transactions.last().cloned();
            change.notes = remarks(&back).collect();
            change
        }
        Ok(Ok(Changed::Nothing)) => change(Outcome::Unchanged).because("nothing to undo"),
        Ok(Ok(_)) => change(Outcome::Failed).because(SessionError::WrongAnswer.to_string()),
        Ok(Err(error @ (ChangeError::Stuck { .. } | ChangeError::NotRoot { .. }))) => {
            change(Outcome::Failed).because(error.to_string())
        }
        Ok(Err(error)) => change(Outcome::Refused).because(error.to_string()),
        Err(why) => change(Outcome::Failed).because(why),
    }
}
