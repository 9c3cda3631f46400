//! Why nothing was measured.

use std::{error::Error, fmt};

use serde::{Deserialize, Serialize};

use crate::call::with_causes;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TestEngineName {
    Rdma,
    Tcp,
}

impl TestEngineName {
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Rdma => "rdma",
            Self::Tcp => "tcp",
        }
    }
}

/// As a person writes it.
impl fmt::Display for TestEngineName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Rdma => "RDMA",
            Self::Tcp => "TCP",
        })
    }
}

/// In the words of whoever failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum TestEngineError {
    /// The node lacks libibverbs, or what it needs of it.
    #[error("RDMA cannot be used from this node's programs: {why}")]
    UserspaceMissing { why: String },
    /// The kernel has devices that libibverbs does not list.
    #[error("{why}")]
    NoProvider { why: String },
    #[error("cannot open the {engine} test: {why}")]
    Open { engine: TestEngineName, why: String },
    #[error("cannot connect to the peer: {why}")]
    Join { why: String },
    #[error("the {engine} test failed: {why}")]
    Go { engine: TestEngineName, why: String },
    /// Nothing came from the peer for as long as was agreed: the peer should have seen the same of this end.
    #[error("the {engine} test failed: {why}")]
    Silent { engine: TestEngineName, why: String },
    /// It crashed, hung, or never began.
    #[error("the {engine} engine failed: {why}")]
    Worker { engine: TestEngineName, why: String },
    #[error("this session has no such {engine} test, or it is over")]
    NoSuchTest { engine: TestEngineName },
    #[error("a test is opened, then joined, then run, once each")]
    OutOfOrder,
}

impl TestEngineError {
    pub(crate) fn open(engine: TestEngineName, error: &dyn Error) -> Self {
        let why = with_causes(error);
        Self::Open { engine, why }
    }

    pub(crate) fn join(error: &dyn Error) -> Self {
        let why = with_causes(error);
        Self::Join { why }
    }

    pub(crate) fn go(engine: TestEngineName, error: &dyn Error) -> Self {
        let why = with_causes(error);
        Self::Go { engine, why }
    }

    pub(crate) fn silent(engine: TestEngineName, error: &dyn Error) -> Self {
        let why = with_causes(error);
        Self::Silent { engine, why }
    }

    pub(crate) fn worker(engine: TestEngineName, error: &dyn Error) -> Self {
        let why = with_causes(error);
        Self::Worker { engine, why }
    }

    /// Whether the peer may be why: it was spoken to.
    pub fn concerns_peer(&self) -> bool {
        matches!(
            self,
            Self::Join { .. } | Self::Go { .. } | Self::Silent { .. }
        )
    }
}
