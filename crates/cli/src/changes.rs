//! What became of nodes that were changed.

use std::process::ExitCode;

use crosstie_control::Verdict;
use crosstie_report::change::{Changes, view};

use crate::{console::Console, exit, output};

/// `undone` where a rollback is what was asked for.
pub(crate) fn report(
    changes: &Changes,
    undone: bool,
    console: &Console,
) -> anyhow::Result<ExitCode> {
    if console.json {
        output::print(&output::json(changes)?)?;
    } else {
        output::print(&view(changes, undone, console.palette))?;
    }
    console.finish()?;
    Ok(exit::status(Verdict::of(changes, undone)))
}
