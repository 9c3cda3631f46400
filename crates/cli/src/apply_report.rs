//! What became of nodes that were changed.

use std::process::ExitCode;

use crosstie_control::CommandVerdict;
use crosstie_report::{
    change::{ApplyReport, view},
    document::JsonDocument,
};
use crosstie_terminal::TerminalConsole;

use crate::{exit, output};

/// `is_rollback` where a rollback is what was asked for.
pub(crate) fn report(
    changes: &ApplyReport,
    is_rollback: bool,
    console: &TerminalConsole,
) -> anyhow::Result<ExitCode> {
    output::report(console.json, &JsonDocument::new(changes), || {
        view(changes, is_rollback, console.palette)
    })?;
    console.finish()?;
    Ok(exit::status(CommandVerdict::of(changes, is_rollback)))
}
