//! `crosstie bench`.

use std::process::ExitCode;

use crosstie_control::bench::{BenchOptions, Transports, bench, peer_commands};
use crosstie_report::bench::view;
use crosstie_terminal::{Colour, Console};

use crate::{args::bench::Bench, exit, output};

pub(crate) fn run(arguments: &Bench, colour: Colour) -> anyhow::Result<ExitCode> {
    let console = Console::new(colour, arguments.json);
    let targets = arguments.targets.targets().resolve(&console)?;
    let options = BenchOptions {
        transports: match (arguments.rdma, arguments.tcp) {
            (true, _) => Transports::Rdma,
            (_, true) => Transports::Tcp,
            _ => Transports::Both,
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
        (true, _) => Some(Transports::Rdma),
        (_, true) => Some(Transports::Tcp),
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
