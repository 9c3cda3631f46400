//! `crosstie env`.

use std::process::ExitCode;

use crosstie_control::env::{environments, formatted, write};
use crosstie_report::env::view;
use crosstie_terminal::{ColourChoice, TerminalConsole};

use crate::{args::env::EnvArgs, exit, output};

pub(crate) fn run(arguments: &EnvArgs, colour: ColourChoice) -> anyhow::Result<ExitCode> {
    let console = TerminalConsole::new(colour, arguments.json);
    let targets = arguments.targets.resolve(&console)?;
    let (env, unread) = environments(&targets, &arguments.set)?;
    match (arguments.format, &arguments.out) {
        (Some(format), Some(directory)) => {
            for path in write(&env, format, directory)? {
                output::print(&format!("{}\n", path.display()))?;
            }
        }
        (Some(format), None) => output::print(&formatted(&env, format)?)?,
        (None, _) => output::report(arguments.json, &env, || view(&env, console.palette))?,
    }
    if !unread.0.is_empty() {
        output::print_error(&unread);
    }
    Ok(exit::failed_if(!unread.0.is_empty()))
}
