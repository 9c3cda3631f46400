//! `crosstie status`.

use std::process::ExitCode;

use clap::ColorChoice;
use crosstie_control::apply::status;
use crosstie_report::status::{Node, view};

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
        output::print(&view(&status, output::palette(colour)))?;
    }
    let nodes = &status.nodes;
    Ok(if nodes.iter().any(|node| node.error.is_some()) {
        exit::tool_failed()
    } else if nodes.iter().any(Node::wants_a_look) {
        exit::faults()
    } else {
        exit::CLEAN
    })
}
