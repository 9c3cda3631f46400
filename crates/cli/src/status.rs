//! `crosstie status`.

use std::process::ExitCode;

use crosstie_control::{CommandVerdict, apply::status};
use crosstie_report::{document::JsonDocument, status::view};
use crosstie_terminal::{ColourChoice, TerminalConsole};

use crate::{args::change::ChangeStatusArgs, exit, output};

pub(crate) fn run(arguments: &ChangeStatusArgs, colour: ColourChoice) -> anyhow::Result<ExitCode> {
    let console = TerminalConsole::new(colour, arguments.json);
    let targets = arguments.chosen.targets(arguments.root.reach());
    let targets = targets.resolve(&console)?;
    let status = status(&targets)?;
    output::report(arguments.json, &JsonDocument::new(&status), || {
        view(&status, &targets.options.offer, console.palette)
    })?;
    Ok(exit::status(CommandVerdict::of_status(&status)))
}
