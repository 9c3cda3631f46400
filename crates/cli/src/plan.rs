//! `crosstie plan`.

use std::process::ExitCode;

use clap::ColorChoice;
use crosstie_control::plan::{plan, write};
use crosstie_report::{
    offer::Verb,
    plan::{Unread, view},
    text::printable,
};

use crate::{args::Plan, console::Console, exit, output};

pub(crate) fn run(arguments: &Plan, colour: ColorChoice) -> anyhow::Result<ExitCode> {
    let targets = arguments.planned.targets();
    let offer = targets.offer();
    let is_live = targets.from.is_empty();
    let targets = targets.resolve(&Console::new(colour, arguments.json))?;
    let (plan, unread) = plan(&targets)?;
    if let Some(directory) = &arguments.out {
        write(&plan, directory)?;
    }
    let unread: Vec<(&str, String)> = unread
        .0
        .iter()
        .map(|(node, error)| (node.as_str(), error.line()))
        .collect();
    if arguments.json {
        output::print(&output::json(&plan)?)?;
        for (node, why) in &unread {
            tracing::error!("{} could not be read: {}", printable(node), printable(why));
        }
    } else {
        let unread: Vec<Unread> = unread
            .iter()
            .map(|(node, why)| Unread { node, why })
            .collect();
        let next = if is_live && plan.has_work() && !plan.is_refused() && unread.is_empty() {
            format!("{}    does it", offer.command(Verb::Apply))
        } else {
            String::new()
        };
        output::print(&view(&plan, &unread, &next, output::palette(colour)))?;
    }
    Ok(if plan.is_refused() || !unread.is_empty() {
        exit::tool_failed()
    } else {
        exit::CLEAN
    })
}
