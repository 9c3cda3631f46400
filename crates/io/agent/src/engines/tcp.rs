//! The TCP engine as a worker: one test at a time.

use crosstie_node::worker::{Engine, EngineContext, WorkerError};
use crosstie_tcp::{Endpoint, Figures, JoinedEngine, OpenEngine, OpenRequest, open};
use serde::{Deserialize, Serialize};

use crate::{call::with_causes, calls::engine::Protocol};

pub(crate) struct Tcp;

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Ask {
    Open(Box<OpenRequest>),
    Join(Box<Endpoint>),
    Go,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Answer {
    Opened(Box<Endpoint>),
    Joined,
    Figures(Box<Figures>),
}

impl Protocol for Tcp {
    const NAME: &'static str = "tcp";
    type Ask = Ask;
    type Answer = Answer;
    type Error = TcpError;

    fn no_such_test() -> TcpError {
        TcpError::NoSuchTest
    }
}

/// Why nothing was measured, in the words of whoever failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum TcpError {
    #[error("cannot open the TCP test: {why}")]
    Open { why: String },
    #[error("cannot connect to the peer: {why}")]
    Join { why: String },
    #[error("the TCP test failed: {why}")]
    Go { why: String },
    /// It crashed, hung, or never began.
    #[error("the TCP engine failed: {why}")]
    Worker { why: String },
    #[error("this session has no such TCP test, or it is over")]
    NoSuchTest,
    #[error("a test is opened, then joined, then run, once each")]
    OutOfOrder,
}

#[derive(Default)]
pub(crate) enum TcpEngine {
    #[default]
    Idle,
    Open(OpenEngine),
    Joined(JoinedEngine),
}

impl TcpEngine {
    fn take(&mut self, ask: Ask, context: &EngineContext) -> Result<Answer, TcpError> {
        match (ask, std::mem::take(self)) {
            (Ask::Open(request), Self::Idle) => {
                let opened = open(*request);
                let (engine, endpoint) = opened.map_err(|error| TcpError::Open {
                    why: with_causes(&error),
                })?;
                *self = Self::Open(engine);
                Ok(Answer::Opened(Box::new(endpoint)))
            }
            (Ask::Join(peer), Self::Open(engine)) => {
                let joined = engine.join(&peer, context.stop.flag());
                *self = Self::Joined(joined.map_err(|error| TcpError::Join {
                    why: with_causes(&error),
                })?);
                Ok(Answer::Joined)
            }
            (Ask::Go, Self::Joined(mut engine)) => {
                let mut emit = |progress| {
                    if let Ok(event) = serde_json::to_vec(&progress) {
                        context.emit(&event);
                    }
                };
                let figures = engine.go(context.stop.flag(), &mut emit);
                let figures = figures.map_err(|error| TcpError::Go {
                    why: with_causes(&error),
                })?;
                Ok(Answer::Figures(Box::new(figures)))
            }
            _ => Err(TcpError::OutOfOrder),
        }
    }
}

impl Engine for TcpEngine {
    fn answer(&mut self, ask: &[u8], context: &EngineContext) -> Vec<u8> {
        let answer = match serde_json::from_slice(ask) {
            Ok(ask) => self.take(ask, context),
            Err(error) => Err(error.into()),
        };
        // What cannot be written as JSON does not exist among these.
        serde_json::to_vec(&answer).unwrap_or_default()
    }
}

impl From<WorkerError> for TcpError {
    fn from(error: WorkerError) -> Self {
        let why = with_causes(&error);
        Self::Worker { why }
    }
}

impl From<serde_json::Error> for TcpError {
    fn from(error: serde_json::Error) -> Self {
        let why = format!("its answer cannot be read: {error}");
        Self::Worker { why }
    }
}
