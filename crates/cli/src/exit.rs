//! Exit statuses, the same for every command.

use std::process::ExitCode;

use crosstie_control::CommandVerdict;

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

pub(crate) fn failed_if(failed: bool) -> ExitCode {
    if failed { tool_failed() } else { CLEAN }
}

pub(crate) fn faults_if(found: bool) -> ExitCode {
    if found { faults() } else { CLEAN }
}

pub(crate) fn status(verdict: CommandVerdict) -> ExitCode {
    match verdict {
        CommandVerdict::Clean => CLEAN,
        CommandVerdict::Faults => faults(),
        CommandVerdict::Failed => tool_failed(),
    }
}
