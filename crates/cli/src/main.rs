//! `crosstie`: from "the cable is in" to "configured, proven and serving".

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
mod init;
mod lab;
mod launch;
mod node;
mod output;
mod plan;
mod prove;
mod report;
mod rollback;
mod scan;
mod status;
mod trial;
mod trust;
mod up;

use std::{error::Error, process::ExitCode};

use clap::{ArgMatches, CommandFactory, FromArgMatches};
use crosstie_control::{failure, is_no};
use crosstie_reach::askpass::answer_ssh;
use crosstie_report::document::Failure;
use crosstie_terminal::{Colour, log_to_stderr};

use args::{Arguments, Command};

fn main() -> ExitCode {
    if let Some(answered) = answer_ssh() {
        return exit::faults_if(!answered);
    }
    let matches = Arguments::command().try_get_matches();
    let json = matches.as_ref().is_ok_and(prints_json);
    let parsed = matches.and_then(|matches| Arguments::from_arg_matches(&matches));
    let arguments = match parsed {
        Ok(arguments) => arguments,
        Err(error) => return usage(&error),
    };
    let colour = arguments.colour;
    log_to_stderr(arguments.verbose, arguments.command.is_for_people(), colour);
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
        Command::Completions { shell } => generate::completions(shell),
        Command::Complete { names } => generate::names(names),
        Command::Man { out } => generate::man(out.as_deref()),
        Command::Schema { what } => generate::schema(&what),
        Command::OfNode(command) => node::run(command),
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

/// A program reads what it prints: the innermost command has `--json`, or prints nothing else.
fn prints_json(matches: &ArgMatches) -> bool {
    if let Some((_, inner)) = matches.subcommand() {
        return prints_json(inner);
    }
    let is_set = |flag| matches!(matches.try_get_one::<bool>(flag), Ok(Some(true)));
    ["json", "show"].into_iter().any(is_set)
}

/// Help and versions are asked for; whatever else does not parse is an error, for programs too.
fn usage(error: &clap::Error) -> ExitCode {
    let rendered = error.render();
    let is_asked_for = !error.use_stderr();
    if is_asked_for {
        let text = if Colour::Auto.has_colours() {
            rendered.ansi().to_string()
        } else {
            rendered.to_string()
        };
        let printed = output::print(&text).inspect_err(|error| output::complain(error));
        return exit::failed_if(printed.is_err());
    }
    output::tell(&rendered.to_string());
    // What follows `--` is another program's.
    let mut own = std::env::args_os().take_while(|argument| argument != "--");
    if own.any(|argument| argument == "--json") {
        output::print_failure(&Failure::of_usage(&rendered.to_string()));
    }
    exit::tool_failed()
}
