//! `crosstie plan`.

use std::process::ExitCode;

use crosstie_control::plan::{plan, write};
use crosstie_report::{
    plan::{PlanReport, view},
    suggested_command::CommandVerb,
    text::with_remark,
};
use crosstie_terminal::{ColourChoice, TerminalConsole};

use crate::{args::PlanArgs, exit, output};

pub(crate) fn run(arguments: &PlanArgs, colour: ColourChoice) -> anyhow::Result<ExitCode> {
    let targets = arguments.planned.targets();
    let offer = targets.offer();
    let is_live = targets.from.is_empty();
    let targets = targets.resolve(&TerminalConsole::new(colour, arguments.json))?;
    let (plan, unread) = plan(&targets)?;
    if let Some(directory) = &arguments.out {
        write(&plan, directory)?;
    }
    let unread = unread.failures();
    let report = PlanReport {
        plan: &plan,
        unread: &unread,
    };
    output::report(arguments.json, &report, || {
        let next = if is_live && unread.is_empty() {
            with_remark(offer.command(CommandVerb::Apply), "does it")
        } else {
            String::new()
        };
        view(&plan, &unread, &next, colour.palette())
    })?;
    Ok(exit::failed_if(plan.is_refused() || !unread.is_empty()))
}
