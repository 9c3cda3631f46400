//! `crosstie prove`.

use std::process::ExitCode;

use clap::ColorChoice;
use crosstie_control::prove::{Proved, prove};
use crosstie_report::prove::{Prove, view};

use crate::{args, console::Console, exit, output};

pub(crate) fn run(arguments: &args::prove::Prove, colour: ColorChoice) -> anyhow::Result<ExitCode> {
    let console = Console::new(colour, arguments.json);
    let options = arguments.options()?;
    let targets = arguments.targets.resolve(&console)?;
    let Proved {
        measured,
        diagnosis,
        before,
    } = prove(&targets, &options)?;
    let run = measured.as_ref().map(|measured| &measured.run);
    let report = Prove::examined(run, before.as_ref(), &diagnosis);
    if arguments.json {
        output::print(&output::json(&report)?)?;
    } else {
        output::print(&view(&report, console.palette))?;
    }
    if let Some(measured) = &measured {
        for port in &measured.refused {
            output::tell(&format!("{port}\n"));
        }
        output::tell(&format!("the run is in {}\n", measured.path.display()));
    }
    Ok(if report.has_faults() {
        exit::faults()
    } else if report.is_unmeasured() {
        exit::tool_failed()
    } else {
        exit::CLEAN
    })
}
