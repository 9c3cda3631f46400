//! `crosstie`: from "the cable is in" to "configured, proven and serving".

mod apply;
mod apply_report;
mod args;
mod bench;
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
mod usage;

use std::{error::Error, process::ExitCode};

use clap::{ArgMatches, CommandFactory, FromArgMatches};
use crosstie_control::{failure_report, is_declined_error};
use crosstie_reach::askpass::answer_ssh;
use crosstie_report::document::FailureReport;
use crosstie_terminal::{ColourChoice, log_to_stderr};

use args::{Arguments, CliCommand};

fn main() -> ExitCode {
    if let Some(answered) = answer_ssh() {
        return exit::faults_if(!answered);
    }
    let matches = Arguments::command().try_get_matches();
    let json = matches.as_ref().is_ok_and(prints_json);
    let parsed = matches.and_then(|matches| Arguments::from_arg_matches(&matches));
    let arguments = match parsed {
        Ok(arguments) => arguments,
        Err(error) => return usage(error),
    };
    let colour = arguments.colour;
    log_to_stderr(arguments.verbose, arguments.command.is_for_people(), colour);
    let result = match arguments.command {
        CliCommand::Scan(scan) if scan.discover => discover::run(&scan, colour),
        CliCommand::Scan(scan) => scan::run(&scan, colour),
        CliCommand::Doctor(doctor) => doctor::run(&doctor, colour),
        CliCommand::Trust(trust) => trust::run(&trust, colour),
        CliCommand::Explain(explain) => explain::run(&explain, colour),
        CliCommand::Plan(plan) => plan::run(&plan, colour),
        CliCommand::Init(init) => init::run(&init, colour),
        CliCommand::Report(report) => report::run(&report, colour),
        CliCommand::Bench(bench) => bench::run(&bench, colour),
        CliCommand::Env(env) => env::run(&env, colour),
        CliCommand::Launch(launch) => launch::run(&launch, colour),
        CliCommand::Prove(prove) => prove::run(&prove, colour),
        CliCommand::Apply(apply) => apply::run(&apply, colour),
        CliCommand::Rollback(rollback) => rollback::run(&rollback, colour),
        CliCommand::Uninstall(uninstall) => rollback::uninstall(&uninstall, colour),
        CliCommand::Status(status) => status::run(&status, colour),
        CliCommand::Try(trial) => trial::run(&trial, colour),
        CliCommand::Up(up) => up::run(&up, colour),
        CliCommand::Lab(lab) => lab::run(&lab),
        CliCommand::Completions { shell } => generate::completions(shell),
        CliCommand::Complete { names } => generate::names(names),
        CliCommand::Man { out } => generate::man(out.as_deref()),
        CliCommand::Schema { what } => generate::schema(&what),
        CliCommand::OfNode(command) => node::run(command),
    };
    match result {
        Ok(code) => code,
        Err(error) => {
            let error: &(dyn Error + 'static) = error.as_ref();
            output::print_error(error);
            if json {
                output::print_failure(&failure_report(error));
            }
            if is_declined_error(error) {
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
fn usage(error: clap::Error) -> ExitCode {
    // What follows `--` is another program's.
    let words = std::env::args_os().skip(1);
    let words = words.map(|word| word.to_string_lossy().into_owned());
    let own: Vec<String> = words.take_while(|word| word != "--").collect();
    let error = usage::with_tips(error, &mut Arguments::command(), &own);
    let rendered = error.render();
    let is_asked_for = !error.use_stderr();
    if is_asked_for {
        let text = if ColourChoice::Auto.has_colours() {
            rendered.ansi().to_string()
        } else {
            rendered.to_string()
        };
        let printed = output::print(&text).inspect_err(|error| output::print_error(error));
        return exit::failed_if(printed.is_err());
    }
    output::print_stderr(&rendered.to_string());
    if own.iter().any(|word| word == "--json") {
        output::print_failure(&FailureReport::of_usage(&rendered.to_string()));
    }
    exit::tool_failed()
}
