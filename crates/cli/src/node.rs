//! What nodes start by themselves, and what other commands start on them.

use std::{path::Path, process::ExitCode, time::Duration};

use anyhow::Context;
use crosstie_agent::{WorkerOptions, serve_engine, serve_process};
use crosstie_change::{self as change, boot_file};
use crosstie_jobs::rank;

use crate::{args::node::NodeCommand, exit, output};

pub(crate) fn run(command: NodeCommand) -> anyhow::Result<ExitCode> {
    match command {
        NodeCommand::Agent { silence, build } => {
            let silence = silence.map(|limit| Duration::from_millis(limit.into()));
            serve_process(silence, build)?;
        }
        NodeCommand::Guard {
            transaction,
            boot,
            wait_until,
        } => guard(&transaction, boot, wait_until.map(Duration::from_millis))?,
        NodeCommand::Worker {
            engine,
            lifetime,
            library,
        } => {
            let options = WorkerOptions {
                engine,
                lifetime: Duration::from_secs(lifetime),
                library,
            };
            serve_engine(options).context("the worker cannot go on")?;
        }
        NodeCommand::Rank { folder } => return Ok(exit::faults_if(!rank::run(&folder)?)),
        NodeCommand::RankShell { host, command } => {
            return Ok(ExitCode::from(rank::run_on_peer(&host, &command)?));
        }
        NodeCommand::Restore { file } => return restore(&file),
    }
    Ok(exit::CLEAN)
}

/// What the timer and the boot unit of a node start, to roll back a change that nobody confirmed.
fn guard(transaction: &str, boot: bool, wait_until: Option<Duration>) -> anyhow::Result<()> {
    let outcome = match wait_until {
        Some(until) => change::wait_and_run_guard(transaction, until),
        None => change::run_guard(transaction, boot),
    };
    match outcome {
        Ok(lines) => lines
            .into_iter()
            .try_for_each(|line| Ok(output::print(&format!("{line}\n"))?)),
        Err(error) => {
            let problem = anyhow::Error::new(error);
            Err(problem.context(format!("{transaction} is not rolled back yet")))
        }
    }
}

/// What ports lose with every boot, set again.
fn restore(file: &Path) -> anyhow::Result<ExitCode> {
    let failed = boot_file::restore(file)?;
    for error in &failed {
        output::print_error(error);
    }
    Ok(exit::failed_if(!failed.is_empty()))
}
