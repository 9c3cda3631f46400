//! Why a node did not do what it was asked.

use std::{error::Error, fmt, sync::Arc};

use crosstie_agent::{CallError, CollectError, NoError, Refusal};
use crosstie_model::change::ChangeError;
use crosstie_node::{cabling::CablingError, capture::LoadError};
use crosstie_reach::{ConnectError, SessionError, Unfinished};

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
    Trust(#[from] CallError<Refusal>),
    #[error(transparent)]
    Capture(Arc<LoadError>),
    #[error(transparent)]
    Unfinished(#[from] Unfinished),
    #[error("cannot parse what was read of it")]
    Parse(#[source] Unfinished),
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
}

/// An error with all its causes, on one line.
pub fn chain_of(error: &dyn Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| (*cause).source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
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
    /// One a node.
    pub fn lines(&self) -> impl Iterator<Item = String> {
        let nodes = self.0.iter();
        nodes.map(|(node, error)| format!("{node}: {}", error.line()))
    }
}

impl Error for NodesFailed {}
