//! `crosstie rollback` and `crosstie uninstall`.

use std::process::ExitCode;

use crosstie_control::{
    Consent, RequestedTargets,
    apply::{self, RollbackError, RollbackOptions},
};
use crosstie_report::change::ApplyReport;
use crosstie_terminal::{ColourChoice, TerminalConsole};

use crate::{
    apply_report::report,
    args::change::{RollbackArgs, SharedRollbackArgs, UninstallArgs},
};

type Work = fn(&RequestedTargets, &RollbackOptions, &Consent) -> Result<ApplyReport, RollbackError>;

pub(crate) fn run(arguments: &RollbackArgs, colour: ColourChoice) -> anyhow::Result<ExitCode> {
    let run = arguments.run.clone();
    roll_back(apply::rollback, run, &arguments.shared, colour)
}

pub(crate) fn uninstall(
    arguments: &UninstallArgs,
    colour: ColourChoice,
) -> anyhow::Result<ExitCode> {
    roll_back(apply::uninstall, None, &arguments.shared, colour)
}

fn roll_back(
    work: Work,
    run: Option<String>,
    shared: &SharedRollbackArgs,
    colour: ColourChoice,
) -> anyhow::Result<ExitCode> {
    let console = TerminalConsole::new(colour, shared.json);
    let targets = shared
        .chosen
        .targets(shared.root.reach())
        .resolve(&console)?;
    let options = RollbackOptions {
        run,
        force: shared.force,
    };
    let consent = Consent {
        yes: shared.yes,
        prompter: &*console,
    };
    let changes = work(&targets, &options, &consent)?;
    report(&changes, true, &console)
}
