//! Interim entry: the lab alone.

mod lab;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Debug, Parser)]
#[command(name = "crosstie")]
struct Arguments {
    #[command(subcommand)]
    command: Top,
}

#[derive(Debug, Subcommand)]
enum Top {
    Lab(lab::LabArgs),
}

#[allow(clippy::print_stderr)]
fn main() -> ExitCode {
    let Top::Lab(arguments) = Arguments::parse().command;
    lab::run(&arguments).unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::from(2)
    })
}
