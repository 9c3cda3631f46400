//! `crosstie prove`.

use std::process::ExitCode;

use crosstie_control::prove::{ProofResult, prove};
use crosstie_report::prove::{ProveReport, view};
use crosstie_terminal::{ColourChoice, TerminalConsole};

use crate::{args, exit, output};

pub(crate) fn run(
    arguments: &args::prove::ProveArgs,
    colour: ColourChoice,
) -> anyhow::Result<ExitCode> {
    let console = TerminalConsole::new(colour, arguments.json);
    let options = arguments.options()?;
    let targets = arguments.targets.targets().resolve(&console)?;
    let ProofResult {
        measured,
        diagnosis,
        before,
        unread,
    } = prove(&targets, &options)?;
    let run = measured.as_ref().map(|measured| &measured.run);
    let report = ProveReport::examined(run, before.as_ref(), &diagnosis, &unread);
    output::report(arguments.json, &report, || view(&report, console.palette))?;
    if let Some(measured) = &measured {
        output::print_sentences(&measured.remarks());
    }
    Ok(if report.is_undecided() {
        exit::tool_failed()
    } else {
        exit::faults_if(report.has_faults())
    })
}
