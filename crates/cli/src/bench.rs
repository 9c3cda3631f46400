//! `crosstie bench`.

use std::process::ExitCode;

use crosstie_control::bench::{BenchOptions, BenchTransports, bench, peer_commands};
use crosstie_report::bench::view;
use crosstie_terminal::{ColourChoice, TerminalConsole};

use crate::{args::bench::BenchArgs, exit, output};

pub(crate) fn run(arguments: &BenchArgs, colour: ColourChoice) -> anyhow::Result<ExitCode> {
    let console = TerminalConsole::new(colour, arguments.json);
    let targets = arguments.targets.targets().resolve(&console)?;
    let options = BenchOptions {
        transports: match (arguments.rdma, arguments.tcp) {
            (true, _) => BenchTransports::Rdma,
            (_, true) => BenchTransports::Tcp,
            _ => BenchTransports::Both,
        },
        streams: arguments.streams,
        block: arguments.block,
        verify: arguments.verify,
        operation: arguments.operation,
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
    let peer_transports = match (arguments.as_perftest, arguments.as_iperf3) {
        (true, _) => Some(BenchTransports::Rdma),
        (_, true) => Some(BenchTransports::Tcp),
        _ => None,
    };
    if let Some(transports) = peer_transports {
        let options = BenchOptions {
            transports,
            ..options
        };
        output::print(&peer_commands(&targets, &options)?)?;
        return Ok(exit::CLEAN);
    }
    let bench = bench(&targets, &options)?;
    output::report(arguments.json, &bench, || view(&bench, console.palette))?;
    Ok(if bench.failures().is_empty() {
        exit::faults_if(bench.wrong_bytes() > 0)
    } else {
        exit::tool_failed()
    })
}
