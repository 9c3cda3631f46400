//! Programs of the system, each with a deadline.

use std::time::Duration;

use crosstie_facts::ReadGap;
use crosstie_node::command::{self, CommandLimits};

use crate::error::ExternalProgramError;

/// A manager's program on a slow machine. Less than the guard's own time, so that one that hangs ends in a rollback.
pub(crate) const PROGRAM_TIMEOUT: Duration = Duration::from_secs(60);

/// A program of the system, with everything that it said where it failed.
pub(crate) fn run(program: &str, arguments: &[&str]) -> Result<String, ExternalProgramError> {
    run_within(program, arguments, PROGRAM_TIMEOUT)
}

pub(crate) fn run_within(
    program: &str,
    arguments: &[&str],
    deadline: Duration,
) -> Result<String, ExternalProgramError> {
    let bounds = CommandLimits {
        deadline,
        ..CommandLimits::default()
    };
    let gap = match command::run(program, arguments, bounds) {
        Ok(output) => return Ok(String::from_utf8_lossy(&output).into_owned()),
        Err(gap) => gap,
    };
    let command = format!("{program} {}", arguments.join(" "));
    Err(match gap {
        ReadGap::Absent => ExternalProgramError::Missing {
            program: program.to_owned(),
        },
        ReadGap::Denied => ExternalProgramError::Denied { command },
        ReadGap::TooLarge => ExternalProgramError::TooLarge { command },
        ReadGap::Failed(complaint) => ExternalProgramError::Failed { command, complaint },
    })
}
