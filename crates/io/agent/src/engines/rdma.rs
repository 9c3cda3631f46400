//! The RDMA engine as a worker: one test at a time.

use std::path::PathBuf;

use crosstie_fabric::placement::Placement;
use crosstie_node::{
    Local, host,
    worker::{Engine, EngineContext, WorkerError},
};
use crosstie_rdma::{
    Figures, GoError, JoinError, JoinedEngine, MemoryCap, Offer, OpenEngine, OpenError,
    OpenRequest, Surroundings, open,
};
use crosstie_verbs::{DeviceListError, Library};
use serde::{Deserialize, Serialize};

use crate::{call::with_causes, calls::engine::Protocol};

pub(crate) struct Rdma;

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Ask {
    Open(Box<OpenRequest>),
    Join(Offer),
    Go,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Answer {
    Opened(Offer, Conditions),
    Joined,
    Figures(Box<Figures>),
}

/// What an end runs with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conditions {
    pub placement: Placement,
    /// Whether its thread could be pinned there.
    pub is_pinned: bool,
    /// Where buffers are smaller than what was asked for.
    pub memory_cap: Option<MemoryCap>,
}

impl Protocol for Rdma {
    const NAME: &'static str = "rdma";
    type Ask = Ask;
    type Answer = Answer;
    type Error = RdmaError;

    fn no_such_test() -> RdmaError {
        RdmaError::NoSuchTest
    }
}

/// Why nothing was measured, in the words of whoever failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum RdmaError {
    /// The node lacks libibverbs, or what it needs of it.
    #[error("RDMA cannot be used from this node's programs: {why}")]
    UserspaceMissing { why: String },
    /// The kernel has devices that libibverbs does not list.
    #[error("{why}")]
    NoProvider { why: String },
    #[error("cannot open the RDMA test: {why}")]
    Open { why: String },
    #[error("cannot connect to the peer: {why}")]
    Join { why: String },
    #[error("the RDMA test failed: {why}")]
    Go { why: String },
    /// It crashed, hung, or never began.
    #[error("the RDMA engine failed: {why}")]
    Worker { why: String },
    #[error("this session has no such RDMA test, or it is over")]
    NoSuchTest,
    #[error("a test is opened, then joined, then run, once each")]
    OutOfOrder,
}

pub(crate) struct RdmaEngine {
    library: Option<PathBuf>,
    state: State,
}

enum State {
    Idle,
    Open(OpenEngine),
    Joined(JoinedEngine),
}

impl RdmaEngine {
    pub(crate) fn new(library: Option<PathBuf>) -> Self {
        Self {
            library,
            state: State::Idle,
        }
    }

    fn take(&mut self, ask: Ask, context: &EngineContext) -> Result<Answer, RdmaError> {
        let state = std::mem::replace(&mut self.state, State::Idle);
        match (ask, state) {
            (Ask::Open(request), State::Idle) => {
                let library = match &self.library {
                    Some(path) => Library::open_at(path),
                    None => Library::open(),
                };
                let library = library.map_err(|error| open_error(&error.into()))?;
                let (engine, conditions) = open_pinned(&library, *request)?;
                let offer = engine.offer().clone();
                self.state = State::Open(engine);
                Ok(Answer::Opened(offer, conditions))
            }
            (Ask::Join(peer), State::Open(engine)) => {
                let joined = engine.join(&peer).map_err(|error| join_error(&error))?;
                self.state = State::Joined(joined);
                Ok(Answer::Joined)
            }
            (Ask::Go, State::Joined(mut engine)) => {
                let mut emit = |progress| {
                    if let Ok(event) = serde_json::to_vec(&progress) {
                        context.emit(&event);
                    }
                };
                let figures = engine.go(context.stop.flag(), &mut emit);
                let figures = figures.map_err(|error| go_error(&error))?;
                // It stays until the test is closed: the peer may still read from its memory.
                self.state = State::Joined(engine);
                Ok(Answer::Figures(Box::new(figures)))
            }
            _ => Err(RdmaError::OutOfOrder),
        }
    }
}

/// In this thread, which is the one that measures: pinned first, so that buffers are on its NUMA node.
fn open_pinned(
    library: &Library,
    request: OpenRequest,
) -> Result<(OpenEngine, Conditions), RdmaError> {
    let machine = Local::machine();
    let share = request.share;
    let (index, count) = (usize::from(share.index), usize::from(share.count));
    let placement = host::placement_for(&machine, &request.device, index, count);
    let is_pinned = host::pin(&placement);
    let surroundings = Surroundings {
        memory: host::memory_limits(&machine).budget(count),
        yields: placement.is_short,
    };
    let engine = open(library, request, surroundings).map_err(|error| open_error(&error))?;
    let conditions = Conditions {
        placement,
        is_pinned,
        memory_cap: engine.memory_cap(),
    };
    Ok((engine, conditions))
}

impl Engine for RdmaEngine {
    fn answer(&mut self, ask: &[u8], context: &EngineContext) -> Vec<u8> {
        let answer = match serde_json::from_slice(ask) {
            Ok(ask) => self.take(ask, context),
            Err(error) => Err(RdmaError::Worker {
                why: error.to_string(),
            }),
        };
        // What cannot be written as JSON does not exist among these.
        serde_json::to_vec(&answer).unwrap_or_default()
    }
}

fn open_error(error: &OpenError) -> RdmaError {
    let why = with_causes(error);
    match error {
        OpenError::Library(_) | OpenError::Devices(DeviceListError::NoRdma(_)) => {
            RdmaError::UserspaceMissing { why }
        }
        OpenError::Devices(DeviceListError::NoProvider { .. }) => RdmaError::NoProvider { why },
        _ => RdmaError::Open { why },
    }
}

fn join_error(error: &JoinError) -> RdmaError {
    let why = with_causes(error);
    RdmaError::Join { why }
}

fn go_error(error: &GoError) -> RdmaError {
    let why = with_causes(error);
    RdmaError::Go { why }
}

impl From<WorkerError> for RdmaError {
    fn from(error: WorkerError) -> Self {
        let why = with_causes(&error);
        Self::Worker { why }
    }
}

impl From<serde_json::Error> for RdmaError {
    fn from(error: serde_json::Error) -> Self {
        let why = format!("its answer cannot be read: {error}");
        Self::Worker { why }
    }
}
