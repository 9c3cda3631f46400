//! `crosstie prove`.

use std::process::ExitCode;

use crosstie_control::prove::{Proved, prove};
use crosstie_report::prove::{Prove, view};
use crosstie_terminal::{Colour, Console};

use crate::{args, exit, output};

pub(crate) fn run(arguments: &args::prove::Prove, colour: Colour) -> anyhow::Result<ExitCode> {
    let console = Console::new(colour, arguments.json);
    let options = arguments.options()?;
    let targets = arguments.targets.targets().resolve(&console)?;
    let Proved {
        measured,
        diagnosis,
        before,
        unread,
    } = prove(&targets, &options)?;
    let run = measured.as_ref().map(|measured| &measured.run);
    let report = Prove::examined(run, before.as_ref(), &diagnosis, &unread);
    output::report(arguments.json, &report, || view(&report, console.palette))?;
    if let Some(measured) = &measured {
        output::tell(&measured.remarks());
    }
    Ok(if report.has_faults() {
        exit::faults()
    } else {
        exit::failed_if(report.is_unmeasured())
    })
}
