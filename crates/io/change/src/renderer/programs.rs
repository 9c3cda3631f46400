//! The programs by which managers are told.

use std::time::{Duration, Instant};

use crosstie_model::facts::net::Manager;

use crate::{
    error::{ExternalProgramError, ManagerError},
    program::{PROGRAM_TIMEOUT, run_within},
};

/// For all of them, one after another: a rollback ends before systemd ends it, after 300 s.
const ALL_TIMEOUT: Duration = Duration::from_secs(150);
/// For each of those that come when it is over.
const LATE_TIMEOUT: Duration = Duration::from_secs(1);

/// Runs a program, at most for so long; what it printed.
type Run<'a> = dyn Fn(&str, &[&str], Duration) -> Result<String, ExternalProgramError> + 'a;

/// A program that fails is noted, and keeps no other from being run.
pub(crate) struct ManagerPrograms<'a> {
    run: &'a Run<'a>,
    until: Instant,
    failed: Vec<ManagerError>,
}

impl ManagerPrograms<'static> {
    pub(super) fn of_machine() -> Self {
        Self::of(&run_within)
    }
}

impl<'a> ManagerPrograms<'a> {
    pub(super) fn of(run: &'a Run<'a>) -> Self {
        Self {
            run,
            until: Instant::now() + ALL_TIMEOUT,
            failed: Vec::new(),
        }
    }

    fn time_left(&self, most: Duration) -> Duration {
        let left = self.until.saturating_duration_since(Instant::now());
        left.clamp(LATE_TIMEOUT, most)
    }

    /// As nmcli takes it.
    pub(super) fn seconds_left(&self, most: Duration) -> String {
        self.time_left(most).as_secs().to_string()
    }

    /// Nothing where it fails.
    pub(super) fn run(&mut self, program: &str, arguments: &[&str]) -> Option<String> {
        self.run_within(program, arguments, PROGRAM_TIMEOUT)
    }

    pub(super) fn run_within(
        &mut self,
        program: &str,
        arguments: &[&str],
        deadline: Duration,
    ) -> Option<String> {
        let done = (self.run)(program, arguments, self.time_left(deadline));
        self.note(done.map_err(ManagerError::from))
    }

    /// For a program whose failure is an answer.
    pub(super) fn ask(
        &self,
        program: &str,
        arguments: &[&str],
    ) -> Result<String, ExternalProgramError> {
        (self.run)(program, arguments, self.time_left(PROGRAM_TIMEOUT))
    }

    pub(super) fn is_running(&self, manager: &Manager) -> bool {
        let unit = manager
            .service()
            .map(|service| format!("{service}.service"));
        unit.is_some_and(|unit| self.ask("systemctl", &["is-active", &unit]).is_ok())
    }

    pub(super) fn note<T>(&mut self, done: Result<T, ManagerError>) -> Option<T> {
        done.map_err(|error| self.failed.push(error)).ok()
    }

    pub(super) fn failed(self) -> Vec<ManagerError> {
        self.failed
    }
}
