//! `crosstie`: from "the cable is in" to "configured, proven and serving".

mod agent;
mod apply;
mod args;
mod bench;
mod changes;
mod console;
mod discover;
mod doctor;
mod exit;
mod explain;
mod generate;
mod guard;
mod init;
mod lab;
mod output;
mod plan;
mod report;
mod restore;
mod rollback;
mod scan;
mod status;
mod trial;
mod trust;
mod up;
mod worker;

use std::{process::ExitCode, time::Duration};

use clap::{ColorChoice, Parser};

use args::{Arguments, Command};

fn main() -> ExitCode {
    if let Some(code) = trust::answer_ssh() {
        return code;
    }
    let arguments = Arguments::parse();
    log(arguments.verbose, arguments.colour);
    let result = match arguments.command {
        Command::Scan(scan) if scan.discover => discover::run(&scan, arguments.colour),
        Command::Scan(scan) => scan::run(&scan, arguments.colour),
        Command::Doctor(doctor) => doctor::run(&doctor, arguments.colour),
        Command::Trust(trust) => trust::run(&trust, arguments.colour),
        Command::Explain(explain) => explain::run(&explain, arguments.colour),
        Command::Plan(plan) => plan::run(&plan, arguments.colour),
        Command::Init(init) => init::run(&init, arguments.colour),
        Command::Report(report) => report::run(&report, arguments.colour),
        Command::Bench(bench) => bench::run(&bench, arguments.colour),
        Command::Apply(apply) => apply::run(&apply, arguments.colour),
        Command::Rollback(undo) => rollback::run(&undo, arguments.colour),
        Command::Uninstall(undo) => rollback::uninstall(&undo, arguments.colour),
        Command::Status(status) => status::run(&status, arguments.colour),
        Command::Try(trial) => trial::run(&trial, arguments.colour),
        Command::Up(up) => up::run(&up, arguments.colour),
        Command::Lab(lab) => lab::run(&lab),
        Command::Agent { silence, build } => agent::run(silence, build),
        Command::Guard {
            transaction,
            boot,
            wait_until,
        } => guard::run(&transaction, boot, wait_until.map(Duration::from_millis)),
        Command::Worker {
            engine,
            lifetime,
            library,
        } => worker::run(engine, lifetime, library),
        Command::Restore { file } => restore::run(&file),
        Command::Completions { shell } => generate::completions(shell),
        Command::Man { out } => generate::man(out.as_deref()),
        Command::Schema { what } => generate::schema(what),
    };
    match result {
        Ok(code) => code,
        Err(error) => {
            output::complain(&error);
            exit::tool_failed()
        }
    }
}

/// Logs go to stderr and stay silent unless asked for: `-v`, or `CROSSTIE_LOG=debug`.
fn log(verbose: u8, colour: ColorChoice) {
    use tracing_subscriber::EnvFilter;
    let level = match verbose {
        0 => "warn",
        1 => "info",
        _ => "debug",
    };
    let filter = EnvFilter::try_from_env("CROSSTIE_LOG").unwrap_or_else(|_| EnvFilter::new(level));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(output::draws(colour))
        .without_time()
        .init();
}
