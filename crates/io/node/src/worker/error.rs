use std::{io, process::ExitStatus, time::Duration};

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

fn ending(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match (status.signal(), status.code()) {
        (Some(signal), _) => {
            let name = rustix::process::Signal::from_named_raw(signal);
            let name = name.map(|name| {
                format!("{name:?}")
                    .trim_matches('"')
                    .replace("Signal::", "SIG")
            });
            let name = name.unwrap_or_else(|| signal.to_string());
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
        assert_eq!(by(3 << 8), "ended with status 3");
    }
}
