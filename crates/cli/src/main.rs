//! `crosstie`: from "the cable is in" to "configured, proven and serving".

mod agent;
mod apply;
mod args;
mod bench;
mod changes;
mod discover;
mod doctor;
mod env;
mod exit;
mod explain;
mod generate;
mod guard;
mod init;
mod lab;
mod launch;
mod output;
mod plan;
mod prove;
mod rank;
mod report;
mod restore;
mod rollback;
mod scan;
mod status;
mod trial;
mod trust;
mod up;
mod worker;

use std::{error::Error, process::ExitCode, time::Duration};

use clap::Parser;
use crosstie_control::{failure, is_no};
use crosstie_reach::askpass::answer_ssh;
use crosstie_report::document::Failure;
use crosstie_terminal::Colour;

use args::{Arguments, Command};

fn main() -> ExitCode {
    if let Some(answered) = answer_ssh() {
        return exit::faults_if(!answered);
    }
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return usage(&error),
    };
    let colour = arguments.colour();
    log(&arguments, colour);
    let json = arguments.command.wants_json();
    let result = match arguments.command {
        Command::Scan(scan) if scan.discover => discover::run(&scan, colour),
        Command::Scan(scan) => scan::run(&scan, colour),
        Command::Doctor(doctor) => doctor::run(&doctor, colour),
        Command::Trust(trust) => trust::run(&trust, colour),
        Command::Explain(explain) => explain::run(&explain, colour),
        Command::Plan(plan) => plan::run(&plan, colour),
        Command::Init(init) => init::run(&init, colour),
        Command::Report(report) => report::run(&report, colour),
        Command::Bench(bench) => bench::run(&bench, colour),
        Command::Env(env) => env::run(&env, colour),
        Command::Launch(launch) => launch::run(&launch, colour),
        Command::Prove(prove) => prove::run(&prove, colour),
        Command::Apply(apply) => apply::run(&apply, colour),
        Command::Rollback(undo) => rollback::run(&undo, colour),
        Command::Uninstall(undo) => rollback::uninstall(&undo, colour),
        Command::Status(status) => status::run(&status, colour),
        Command::Try(trial) => trial::run(&trial, colour),
        Command::Up(up) => up::run(&up, colour),
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
        Command::Rank { folder } => rank::run(&folder),
        Command::RankShell { host, command } => rank::shell(&host, &command),
        Command::Restore { file } => restore::run(&file),
        Command::Completions { shell } => generate::completions(shell),
        Command::Complete { names } => generate::names(names),
        Command::Man { out } => generate::man(out.as_deref()),
        Command::Schema { what } => generate::schema(&what),
    };
    match result {
        Ok(code) => code,
        Err(error) => {
            let error: &(dyn Error + 'static) = error.as_ref();
            output::complain(error);
            if json {
                output::print_failure(&failure(error));
            }
            if is_no(error) {
                exit::faults()
            } else {
                exit::tool_failed()
            }
        }
    }
}

/// Help and versions are asked for; whatever else does not parse is an error, for programs too.
fn usage(error: &clap::Error) -> ExitCode {
    let rendered = error.render();
    let is_asked_for = !error.use_stderr();
    if is_asked_for {
        let text = if crosstie_terminal::Colour::Auto.has_colours() {
            rendered.ansi().to_string()
        } else {
            rendered.to_string()
        };
        return exit::failed_if(output::print(&text).is_err());
    }
    output::tell(&rendered.to_string());
    if std::env::args_os().any(|argument| argument == "--json") {
        let text = rendered.to_string();
        let mut lines = text.lines().filter(|line| !line.trim().is_empty());
        let first = lines.next().unwrap_or_default();
        output::print_failure(&Failure {
            error: first.trim_start_matches("error: ").to_owned(),
            causes: lines.map(|line| line.trim().to_owned()).collect(),
            nodes: Vec::new(),
        });
    }
    exit::tool_failed()
}

/// Logs go to stderr and stay silent unless asked for: `-v`, or `CROSSTIE_LOG=debug`. What runs on a node by itself has
/// nobody to print to but the journal.
fn log(arguments: &Arguments, colour: Colour) {
    use tracing_subscriber::EnvFilter;
    let level = match arguments.verbose {
        0 if arguments.command.is_for_people() => "off",
        0 => "warn",
        1 => "info",
        _ => "debug",
    };
    let filter = EnvFilter::try_from_env("CROSSTIE_LOG").unwrap_or_else(|_| EnvFilter::new(level));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(colour.draws())
        .without_time()
        .init();
}
