//! `crosstie status`.

use std::process::ExitCode;

use crosstie_control::{Verdict, apply::status};
use crosstie_report::{document::Document, status::view};
use crosstie_terminal::{Colour, Console};

use crate::{args::change::Status, exit, output};

pub(crate) fn run(arguments: &Status, colour: Colour) -> anyhow::Result<ExitCode> {
    let console = Console::new(colour, arguments.json);
    let targets = arguments.chosen.targets(arguments.root.reach());
    let status = status(&targets.resolve(&console)?)?;
    output::report(arguments.json, &Document::new(&status), || {
        view(&status, console.palette)
    })?;
    Ok(exit::status(Verdict::of_status(&status)))
}
