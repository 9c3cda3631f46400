//! `crosstie status`.

use std::process::ExitCode;

use clap::ColorChoice;
use crosstie_control::{Verdict, apply::status};
use crosstie_report::status::view;

use crate::{args::change::Status, console::Console, exit, output};

pub(crate) fn run(arguments: &Status, colour: ColorChoice) -> anyhow::Result<ExitCode> {
    let console = Console::new(colour, arguments.json);
    let targets = arguments
        .chosen
        .targets(&arguments.root)
        .resolve(&console)?;
    let status = status(&targets)?;
    if arguments.json {
        output::print(&output::json(&status)?)?;
    } else {
        output::print(&view(&status, console.palette))?;
    }
    Ok(exit::status(Verdict::of_status(&status)))
}
