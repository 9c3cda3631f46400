//! What became of nodes that were changed.

use std::process::ExitCode;

use crosstie_control::Verdict;
use crosstie_report::{
    change::{Changes, view},
    document::Document,
};
use crosstie_terminal::Console;

use crate::{exit, output};

/// `undone` where a rollback is what was asked for.
pub(crate) fn report(
    changes: &Changes,
    undone: bool,
    console: &Console,
) -> anyhow::Result<ExitCode> {
    output::report(console.json, &Document::new(changes), || {
        view(changes, undone, console.palette)
    })?;
    console.finish()?;
    Ok(exit::status(Verdict::of(changes, undone)))
}
