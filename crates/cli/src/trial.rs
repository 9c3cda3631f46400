//! `crosstie try`.

use std::process::ExitCode;

use crosstie_control::{
    Consent,
    apply::{TrialOptions, try_command},
};
use crosstie_terminal::{ColourChoice, TerminalConsole};

use crate::{
    apply_report::report,
    args::{NodeArgs, change::TryArgs},
};

pub(crate) fn run(arguments: &TryArgs, colour: ColourChoice) -> anyhow::Result<ExitCode> {
    let console = TerminalConsole::new(colour, false);
    let chosen = NodeArgs {
        nodes: vec![arguments.node.clone()],
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
    let targets = chosen.targets(arguments.root.reach()).resolve(&console)?;
    let changes = try_command(&targets, &options, &consent)?;
    report(&changes, false, &console)
}
