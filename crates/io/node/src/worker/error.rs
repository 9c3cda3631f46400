use std::{io, process::ExitStatus, time::Duration};

use rustix::process::Signal;
use thiserror::Error;

/// After each of these the worker has ended.
#[derive(Debug, Error)]
pub enum WorkerError {
    #[error("cannot start the worker")]
    Start(#[source] io::Error),
    #[error("cannot talk to the worker")]
    Talk(#[source] io::Error),
    #[error("the worker {}{}", ending(*.status), quoted(.stderr))]
    Ended {
        status: ExitStatus,
        /// The last of what it, or a library in it, printed there.
        stderr: String,
    },
    #[error("the worker gave no answer within {} s and was ended{}", .waited.as_secs(), quoted(.stderr))]
    Deadline { waited: Duration, stderr: String },
    #[error("the worker was stopped")]
    Stopped,
    #[error("the worker has ended before")]
    Gone,
}

/// Those that end a process, by the names that people know (signal(7)).
const SIGNALS: [(Signal, &str); 14] = [
    (Signal::HUP, "SIGHUP"),
    (Signal::INT, "SIGINT"),
    (Signal::QUIT, "SIGQUIT"),
    (Signal::ILL, "SIGILL"),
    (Signal::TRAP, "SIGTRAP"),
    (Signal::ABORT, "SIGABRT"),
    (Signal::BUS, "SIGBUS"),
    (Signal::FPE, "SIGFPE"),
    (Signal::KILL, "SIGKILL"),
    (Signal::SEGV, "SIGSEGV"),
    (Signal::PIPE, "SIGPIPE"),
    (Signal::TERM, "SIGTERM"),
    (Signal::XCPU, "SIGXCPU"),
    (Signal::SYS, "SIGSYS"),
];

fn ending(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match (status.signal(), status.code()) {
        (Some(signal), _) => {
            let mut named = SIGNALS.iter();
            let name = named.find(|(known, _)| known.as_raw() == signal);
            let name = name.map_or_else(|| signal.to_string(), |(_, name)| (*name).to_owned());
            format!("was ended by a signal ({name})")
        }
        (None, Some(code)) => format!("ended with status {code}"),
        (None, None) => "ended".to_owned(),
    }
}

fn quoted(stderr: &str) -> String {
    if stderr.is_empty() {
        String::new()
    } else {
        format!("; it said: {stderr}")
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    #[test]
    fn signals_have_the_names_that_people_know() {
        let by = |raw| ending(ExitStatus::from_raw(raw));
        assert_eq!(by(9), "was ended by a signal (SIGKILL)");
        assert_eq!(by(6), "was ended by a signal (SIGABRT)");
        assert_eq!(by(11), "was ended by a signal (SIGSEGV)");
        assert_eq!(by(40), "was ended by a signal (40)");
        assert_eq!(by(3 << 8), "ended with status 3");
    }
}
