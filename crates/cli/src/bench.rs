//! `crosstie bench`.

use std::process::ExitCode;

use clap::ColorChoice;
use crosstie_control::bench::{BenchOptions, bench};
use crosstie_report::bench::view;

use crate::{args::bench::Bench, console::Console, exit, output};

pub(crate) fn run(arguments: &Bench, colour: ColorChoice) -> anyhow::Result<ExitCode> {
    let console = Console::new(colour, arguments.json);
    let targets = arguments.targets.resolve(&console)?;
    let options = BenchOptions {
        operation: arguments.operation.into(),
        size: arguments.size,
        queue_pairs: arguments.queue_pairs,
        depth: arguments.depth,
        list: arguments.list,
        bidirectional: arguments.bidirectional,
        sweep: arguments.sweep,
        verify_data: arguments.verify_data,
        measure: arguments.seconds * 1000,
        force: arguments.force,
    };
    let bench = bench(&targets, &options)?;
    if arguments.json {
        output::print(&output::json(&bench)?)?;
    } else {
        output::print(&view(&bench, console.palette))?;
    }
    Ok(if !bench.failures().is_empty() {
        exit::tool_failed()
    } else if bench.wrong_bytes() > 0 {
        exit::faults()
    } else {
        exit::CLEAN
    })
}
