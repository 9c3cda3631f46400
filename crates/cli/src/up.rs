//! `crosstie up`.

use std::{error::Error, process::ExitCode};

use crosstie_control::{
    Consent,
    apply::ApplyOptions,
    up::{UpHalt, UpOptions, up},
};
use crosstie_report::{document::JsonDocument, up::screen};
use crosstie_terminal::{ColourChoice, TerminalConsole};

use crate::{args, exit, output};

pub(crate) fn run(arguments: &args::up::UpArgs, colour: ColourChoice) -> anyhow::Result<ExitCode> {
    let console = TerminalConsole::with_diff(colour, arguments.json, arguments.diff);
    let members = &arguments.members;
    let targets = members.targets(&arguments.root).resolve(&console)?;
    let options = UpOptions {
        file: members.output.clone(),
        name: members.lab.clone(),
        apply: ApplyOptions {
            guard: arguments.guard,
            force: arguments.force,
            canary: None,
        },
        measure: !arguments.no_measure,
        report: !arguments.no_report,
    };
    let consent = Consent {
        yes: arguments.yes,
        prompter: &*console,
    };
    let mut run = up(&targets, &options, &consent)?;
    let offer = arguments.offer().for_cluster_file();
    run.up.add_commands(&offer, &arguments.again());
    let code = match run.ended {
        Ok(()) => exit::CLEAN,
        Err(UpHalt::Stop { verdict, .. }) => exit::status(verdict),
        Err(UpHalt::Error(error)) => {
            // The rest is on the last screen.
            if error.source().is_some() {
                output::print_error(&error);
            }
            exit::tool_failed()
        }
    };
    output::report(arguments.json, &JsonDocument::new(&run.up), || {
        let home = std::env::var("HOME").ok();
        screen(&run.up, home.as_deref(), console.palette)
    })?;
    console.finish()?;
    Ok(code)
}
