//! Exit statuses, the same for every command.

use std::process::ExitCode;

/// Done, and nothing is wrong.
pub(crate) const CLEAN: ExitCode = ExitCode::SUCCESS;

/// The tool did its work, and it found faults.
pub(crate) fn faults() -> ExitCode {
    ExitCode::from(1)
}

/// The tool could not do what it was asked to.
pub(crate) fn tool_failed() -> ExitCode {
    ExitCode::from(2)
}
