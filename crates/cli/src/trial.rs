//! `crosstie try`.

use std::process::ExitCode;

use clap::ColorChoice;
use crosstie_control::{
    Consent,
    apply::{TrialOptions, attempt},
};
use crosstie_model::change::Ended;
use crosstie_report::text::printable;

use crate::{
    args::change::{Chosen, Try},
    changes::report,
    console::Console,
};

/// Before the command runs.
pub(crate) const UNDONE: &str = "Undone unless it is kept: files of the network managers and of --file; links, addresses, routes, rules and \
    the firewall; sysctls of interfaces. Not undone: other files, packages, services, processes that it \
    leaves running, kernel modules, tc.\n";

pub(crate) fn run(arguments: &Try, colour: ColorChoice) -> anyhow::Result<ExitCode> {
    let console = Console::new(colour, false);
    let chosen = Chosen {
        nodes: vec![arguments.node.clone()],
        lab: arguments.lab.clone(),
        cluster: arguments.cluster.clone(),
    };
    let options = TrialOptions {
        command: arguments.command.clone(),
        files: arguments.file.clone(),
        time: arguments.time,
        force: arguments.force,
    };
    let consent = Consent {
        yes: arguments.yes,
        prompter: &*console,
    };
    let targets = chosen.targets(&arguments.root).resolve(&console)?;
    let changes = attempt(&targets, &options, &consent)?;
    report(&changes, false, &console)
}

/// What the command said, and how it ended.
pub(crate) fn told(ended: &Ended) -> String {
    let mut lines: Vec<String> = ended.output.lines().map(printable).collect();
    match ended.status {
        Some(0) => {}
        Some(status) => lines.push(format!("the command ended with status {status}")),
        None => lines.push("the command was ended by a signal, or by its deadline".to_owned()),
    }
    lines.iter().flat_map(|line| [line, "\n"]).collect()
}
