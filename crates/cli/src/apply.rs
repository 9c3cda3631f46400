//! `crosstie apply`.

use std::process::ExitCode;

use crosstie_control::{
    Consent,
    apply::{ApplyOptions, apply},
};
use crosstie_terminal::{ColourChoice, TerminalConsole};

use crate::{apply_report::report, args::change::ApplyArgs};

pub(crate) fn run(arguments: &ApplyArgs, colour: ColourChoice) -> anyhow::Result<ExitCode> {
    let console = TerminalConsole::with_diff(colour, arguments.json, arguments.diff);
    let targets = arguments.chosen.targets(arguments.root.reach());
    let targets = targets.resolve(&console)?;
    let options = ApplyOptions {
        guard: arguments.guard,
        force: arguments.force,
        canary: arguments.canary.clone(),
    };
    let consent = Consent {
        yes: arguments.yes,
        prompter: &*console,
    };
    let mut changes = apply(&targets, &options, &consent)?;
    if let Some(run) = &changes.run {
        let undo = arguments.offer().rollback(run);
        changes.half_configured = changes.half_configured(&arguments.again(), &undo);
    }
    report(&changes, false, &console)
}
