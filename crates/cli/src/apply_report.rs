//! What became of nodes that were changed.

use std::process::ExitCode;

use crosstie_control::CommandVerdict;
use crosstie_report::{
    change::{ApplyReport, view},
    document::JsonDocument,
};
use crosstie_terminal::TerminalConsole;

use crate::{exit, output};

/// `undone` where a rollback is what was asked for.
pub(crate) fn report(
    changes: &ApplyReport,
    undone: bool,
    console: &TerminalConsole,
) -> anyhow::Result<ExitCode> {
    output::report(console.json, &JsonDocument::new(changes), || {
        view(changes, undone, console.palette)
    })?;
    console.finish()?;
    Ok(exit::status(CommandVerdict::of(changes, undone)))
}
