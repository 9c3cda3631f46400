//! Why a node did not do what it was asked.

use std::{error::Error, fmt, sync::Arc};

use crosstie_agent::{CallError, CollectError, NoError, TrustCallError};
use crosstie_facts::MachineTooLarge;
use crosstie_jobs::JobLogError;
use crosstie_launch::job_protocol::JobCallError;
use crosstie_model::change::ChangeError;
use crosstie_node::{cabling::CablingError, capture::CaptureLoadError};
use crosstie_reach::{ConnectError, FanOutItemError, SessionError};
use crosstie_report::document::{FailureReport, NodeFailure};

/// Each text goes behind the node's name.
#[derive(Debug, Clone, thiserror::Error)]
pub enum NodeError {
    #[error("it has not answered an earlier call yet")]
    Busy,
    #[error("it was given up")]
    GivenUp,
    #[error(transparent)]
    Connect(Arc<ConnectError>),
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error(transparent)]
    Collect(#[from] CallError<CollectError>),
    #[error(transparent)]
    Cabling(#[from] CallError<CablingError>),
    #[error(transparent)]
    Change(#[from] CallError<ChangeError>),
    #[error(transparent)]
    Reach(#[from] CallError<NoError>),
    #[error(transparent)]
    Trust(#[from] CallError<TrustCallError>),
    #[error(transparent)]
    Job(#[from] CallError<JobCallError>),
    #[error(transparent)]
    JobLog(#[from] CallError<JobLogError>),
    #[error(transparent)]
    Capture(Arc<CaptureLoadError>),
    #[error(transparent)]
    Unfinished(#[from] FanOutItemError),
    #[error("cannot parse what was read of it")]
    Parse(#[source] FanOutItemError),
    #[error(transparent)]
    TooLarge(#[from] MachineTooLarge),
}

impl From<ConnectError> for NodeError {
    fn from(error: ConnectError) -> Self {
        Self::Connect(Arc::new(error))
    }
}

impl NodeError {
    /// With all its causes, on one line.
    pub fn line(&self) -> String {
        chain_of(self)
    }

    /// For somebody who must not learn how the node is reached: ssh names users, machines and addresses.
    pub(crate) fn public_line(&self) -> String {
        match self {
            Self::Session(error) | Self::Reach(CallError::Session(error)) => session_line(error),
            Self::Connect(_) => "no connection to it works".to_owned(),
            other => other.line(),
        }
    }
}

/// Without what ssh said.
pub(crate) fn session_line(error: &SessionError) -> String {
    match error {
        SessionError::Ended { .. } => "the agent ended in the middle of a call".to_owned(),
        other => other.to_string(),
    }
}

/// An error with all its causes, on one line.
pub fn chain_of(error: &dyn Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| (*cause).source());
    causes.fold(one_line(error), |text, cause| {
        format!("{text}: {}", one_line(cause))
    })
}

/// Some errors draw the place in the file below their first line.
fn one_line(error: &dyn Error) -> String {
    let text = error.to_string();
    let is_drawn = |line: &&str| {
        let line = line.trim_start();
        let line = line.trim_start_matches(|letter: char| letter.is_ascii_digit());
        line.trim_start().starts_with('|')
    };
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let lines: Vec<&str> = lines.filter(|line| !is_drawn(line)).collect();
    lines.join(": ")
}

/// An error as programs read it.
pub fn failure_report(error: &(dyn Error + 'static)) -> FailureReport {
    let chain = std::iter::successors(Some(error), |cause| (*cause).source());
    let failed = chain.clone().find_map(|cause| cause.downcast_ref());
    FailureReport {
        error: error.to_string(),
        causes: chain.skip(1).map(ToString::to_string).collect(),
        nodes: failed.map_or_else(Vec::new, NodesFailed::failures),
    }
}

/// Nodes by the names that they were called by, and why each failed.
#[derive(Debug)]
pub struct NodesFailed(pub Vec<(String, NodeError)>);

impl fmt::Display for NodesFailed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.lines().collect();
        formatter.write_str(&lines.join("\n"))
    }
}

impl NodesFailed {
    /// As programs read them.
    pub fn failures(&self) -> Vec<NodeFailure> {
        let failure = |(host, error): &(String, NodeError)| NodeFailure {
            host: host.clone(),
            error: error.line(),
        };
        self.0.iter().map(failure).collect()
    }

    /// One a node.
    pub fn lines(&self) -> impl Iterator<Item = String> {
        let nodes = self.0.iter();
        nodes.map(|(node, error)| format!("{node}: {}", error.line()))
    }
}

impl Error for NodesFailed {}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("meta.toml is not valid")]
    struct Invalid(#[source] toml::de::Error);

    #[test]
    fn an_error_that_draws_is_one_line() {
        let error = toml::from_str::<toml::Table>("format = 1\nhost = \"x\n").unwrap_err();
        let line = chain_of(&Invalid(error));
        let expected = "meta.toml is not valid: TOML parse error at line 2, column 10: invalid basic string, expected `\"`";
        assert_eq!(line, expected);
    }
}
