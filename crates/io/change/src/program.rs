//! Programs of the system, each with a deadline.

use std::time::Duration;

use crosstie_facts::ReadGap;
use crosstie_node::command::{self, CommandLimits};

use crate::error::ExternalProgramError;

/// A manager's program on a slow machine. Less than the guard's own time, so that one that hangs ends in a rollback.
pub(crate) const PROGRAM_TIMEOUT: Duration = Duration::from_secs(60);

/// A program of the system, with what it said last where it failed.
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
    let command = format!("{program} {}", arguments.join(" "));
    let ended = match command::run_to_end(program, arguments, &[], bounds) {
        Ok(ended) => ended,
        Err(ReadGap::Absent) => {
            let program = program.to_owned();
            return Err(ExternalProgramError::Missing { program });
        }
        Err(ReadGap::TooLarge) => return Err(ExternalProgramError::TooLarge { command }),
        Err(gap @ (ReadGap::Denied | ReadGap::Failed(_))) => {
            let complaint = gap.to_string();
            return Err(ExternalProgramError::Failed { command, complaint });
        }
    };
    if ended.status.success() {
        return Ok(String::from_utf8_lossy(&ended.output).into_owned());
    }
    Err(ExternalProgramError::Failed {
        command,
        complaint: format!("{}: {}", ended.status, ended.last_words()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever the words are: a module that the kernel does not take is no lack of root.
    #[test]
    fn a_program_that_fails_is_told_with_its_own_reason() {
        let script = "echo 'WARNING: x is too open' >&2; echo 'rdma_ucm: Operation not permitted' >&2; exit 3";
        let error = run("sh", &["-c", script]).unwrap_err().to_string();
        let reason = ": exit status: 3: WARNING: x is too open; rdma_ucm: Operation not permitted";
        assert!(error.ends_with(reason), "{error}");
        assert_eq!(run("echo", &["done"]).unwrap(), "done\n");
        let missing = run("no-such-program", &[]).unwrap_err().to_string();
        assert_eq!(missing, "no-such-program is not installed");
    }
}
