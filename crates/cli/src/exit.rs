//! Exit statuses, the same for every command.

use std::process::ExitCode;

/// Done, and nothing is wrong.
pub(crate) const CLEAN: ExitCode = ExitCode::SUCCESS;

/// The tool could not do what it was asked to. Status 1 is kept for faults that it found.
pub(crate) fn tool_failed() -> ExitCode {
    ExitCode::from(2)
}
