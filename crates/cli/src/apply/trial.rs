//! `crosstie try`.

use std::{process::ExitCode, time::Instant};

use anyhow::bail;
use clap::ColorChoice;
use crosstie_model::change::{Ask, Ended, Trial};
use crosstie_reach::{Stage, set_last_words};
use crosstie_report::{
    change::{Change, Changes},
    text::printable,
};

use super::{
    INTERRUPTED,
    args::{Chosen, Try},
    ask::Limits,
    no_root, report,
    run_id::new_run_id,
    subjects::Subjects,
    transaction::{Transaction, begin},
};
use crate::{exit, look::look, output, progress::Progress, targets, terminal};

/// Before the command runs.
const UNDONE: &str = "Undone unless it is kept: files of the network managers and of --file; links, addresses, routes, rules and \
    the firewall; sysctls of interfaces. Not undone: other files, packages, services, processes that it \
    leaves running, kernel modules, tc.\n";

pub(crate) fn run(arguments: &Try, colour: ColorChoice) -> anyhow::Result<ExitCode> {
    if let Some(path) = arguments.file.iter().find(|path| !path.starts_with('/')) {
        bail!("--file {path}: give the path on the node from its root, like /etc/frr");
    }
    let chosen = Chosen {
        nodes: vec![arguments.node.clone()],
        lab: arguments.lab.clone(),
        cluster: arguments.cluster.clone(),
    };
    let targets = chosen.targets(&arguments.root);
    let (spec, fleet) = targets::existing(&targets, true, colour)?;
    let Some(looked) = look(&fleet, no_root)? else {
        return Ok(exit::tool_failed());
    };
    let subjects = Subjects::new(spec.as_ref(), &fleet, &looked, &arguments.root, colour);
    let subject = subjects.subject(0);
    let trial = trial(arguments, new_run_id()?);
    let progress = fleet.progress(std::slice::from_ref(&subject.node));
    let stage = |stage| progress.stage(0, stage);
    output::tell(UNDONE);
    set_last_words(INTERRUPTED);
    let limits = Limits::default();
    let deadline = arguments.time + limits.back;
    let run = trial.run.clone();
    let change = match begin(
        &subject,
        &Ask::Try(trial),
        &|_| None,
        deadline,
        limits,
        &stage,
    ) {
        Err(change) => change,
        Ok(transaction) => decide(transaction, arguments.yes, &progress, &stage)?,
    };
    progress.stop();
    crosstie_reach::end_if_interrupted();
    set_last_words("");
    let mut changes = Changes::new(vec![change]);
    changes.run = Some(run);
    report(&changes, false, false, colour)
}

fn trial(arguments: &Try, run: String) -> Trial {
    let guard = u32::try_from(arguments.time.as_secs()).unwrap_or(u32::MAX);
    Trial {
        run,
        command: arguments.command.clone(),
        files: arguments.file.clone(),
        guard_seconds: guard,
        // What is left is for a look at the node, and for a person.
        command_seconds: guard / 2,
        force: arguments.force,
    }
}

/// Shows what the command did, looks whether the node still answers, and asks.
fn decide(
    mut transaction: Transaction,
    yes: bool,
    progress: &Progress,
    stage: &dyn Fn(Stage),
) -> anyhow::Result<Change> {
    let checked = transaction.check(stage);
    // Nothing is drawn over a question.
    progress.stop();
    if let Some(ended) = transaction.ended() {
        output::print(&told(ended))?;
    }
    if let Err(why) = checked {
        return Ok(transaction.roll_back(&why, stage));
    }
    Ok(
        match verdict(yes, transaction.ended(), transaction.until()) {
            Ok(()) => transaction.confirm(stage),
            Err(why) => transaction.roll_back(why, stage),
        },
    )
}

/// Whether to keep what answers; else why not. Somebody who is asked has seen how the command ended.
fn verdict(yes: bool, ended: Option<&Ended>, until: Instant) -> Result<(), &'static str> {
    const QUESTION: &str = "The node answers over a new connection. Keep it? [y/N]";
    let failed = ended.is_some_and(|ended| ended.status != Some(0));
    match (yes, terminal::is_there()) {
        (true, _) if failed => Err("the command failed"),
        (true, _) => Ok(()),
        (false, true) if terminal::approve_before(QUESTION, until) => Ok(()),
        (false, true) => Err("it was not kept"),
        (false, false) => Err("there is no terminal to ask on, and --yes was not passed"),
    }
}

fn told(ended: &Ended) -> String {
    let mut lines: Vec<String> = ended.output.lines().map(printable).collect();
    match ended.status {
        Some(0) => {}
        Some(status) => lines.push(format!("the command ended with status {status}")),
        None => lines.push("the command was ended by a signal, or by its deadline".to_owned()),
    }
    lines.iter().flat_map(|line| [line, "\n"]).collect()
}
