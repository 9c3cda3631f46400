//! `crosstie explain`: a fault of the catalogue, or an NCCL log.

use std::{path::Path, process::ExitCode};

use anyhow::bail;
use crosstie_control::nccl_log::read_log;
use crosstie_doctor::checks;
use crosstie_model::Severity;
use crosstie_report::{document::JsonDocument, explain, nccl_log};
use crosstie_terminal::ColourChoice;

use crate::{args::ExplainArgs, exit, output};

pub(crate) fn run(arguments: &ExplainArgs, colour: ColourChoice) -> anyhow::Result<ExitCode> {
    match (&arguments.nccl_log, &arguments.id) {
        (Some(path), _) => log(path, arguments, colour),
        (None, Some(id)) => check(id, colour),
        (None, None) => {
            output::print(&explain::list(colour.palette()))?;
            Ok(exit::CLEAN)
        }
    }
}

fn check(id: &str, colour: ColourChoice) -> anyhow::Result<ExitCode> {
    let Some(check) = checks::find(id) else {
        bail!("{}", explain::unknown(id));
    };
    output::print(&explain::check(check, colour.palette()))?;
    Ok(exit::CLEAN)
}

fn log(path: &Path, arguments: &ExplainArgs, colour: ColourChoice) -> anyhow::Result<ExitCode> {
    let report = read_log(path, &arguments.from)?;
    output::report(arguments.json, &JsonDocument::new(&report), || {
        nccl_log::view(&report, colour.palette())
    })?;
    // Whoever asks what a log says would take silence for health.
    if report.messages == 0 {
        return Ok(exit::tool_failed());
    }
    let mut findings = report.findings.iter();
    let faulty = findings.any(|finding| finding.severity == Severity::Fault);
    Ok(exit::faults_if(faulty))
}
