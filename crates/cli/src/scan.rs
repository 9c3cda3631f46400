//! `crosstie scan`.

use std::{path::PathBuf, process::ExitCode};

use crosstie_control::{
    FleetSnapshot, ResolvedTargets,
    scan::{keep, scan, values},
};
use crosstie_report::scan::{ScanHints, ScanResult, view};
use crosstie_terminal::{ColourChoice, TerminalConsole};

use crate::{args::ScanArgs, exit, output};

pub(crate) fn run(arguments: &ScanArgs, colour: ColourChoice) -> anyhow::Result<ExitCode> {
    let console = TerminalConsole::new(colour, arguments.json);
    let ResolvedTargets { spec, nodes, .. } = arguments.targets.resolve(&console)?.find()?;
    let readings = nodes.read();
    if let Some(path) = &arguments.capture {
        keep(&readings, path)?;
    }
    let from_captures = !arguments.targets.from.is_empty();
    let scanned = scan(&FleetSnapshot::parse(readings), spec, from_captures);
    let failed = scanned.iter().any(|node| node.facts.is_none());
    if arguments.json {
        output::print_json(&values(&scanned, arguments.facts)?)?;
    } else {
        let outcomes: Vec<ScanResult> = scanned.into_iter().map(|node| node.outcome).collect();
        let hints = hints(arguments, failed);
        output::print(&view(&outcomes, &hints, console.palette))?;
    }
    Ok(exit::failed_if(failed))
}

fn hints(scan: &ScanArgs, failed: bool) -> ScanHints {
    let shown = |path: &PathBuf| path.display().to_string();
    let capture = scan.capture.as_ref().map(shown);
    let from: Vec<String> = scan.targets.from.iter().map(shown).collect();
    ScanHints::new(&scan.targets.offer(), capture.as_deref(), &from, failed)
}
