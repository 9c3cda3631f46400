//! One end of a test between two nodes, whatever it measures with: open → join → go, once each, in a worker.

use crosstie_figures::TestProgress;
use crosstie_node::{
    StopFlag,
    worker::{WorkerContext, WorkerEngine},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{TestEngineError, TestEngineName};

/// What the two ends and the wire have to be able to carry.
pub trait EngineMessage:
    Serialize + DeserializeOwned + Send + Sync + std::fmt::Debug + 'static
{
}

impl<T: Serialize + DeserializeOwned + Send + Sync + std::fmt::Debug + 'static> EngineMessage
    for T
{
}

/// What an engine is, beyond the order in which it is asked.
pub trait TestEngine: 'static {
    const NAME: TestEngineName;
    type Request: EngineMessage;
    /// What the peer has to know to join.
    type Endpoint: EngineMessage + Clone;
    /// What an end runs with.
    type Conditions: EngineMessage;
    type Figures: EngineMessage;
    type Open;
    type Joined;

    fn open(&self, request: Self::Request) -> Result<OpenedTestEnd<Self>, TestEngineError>;

    fn join(
        open: Self::Open,
        peer: &Self::Endpoint,
        stop: &StopFlag,
    ) -> Result<Self::Joined, TestEngineError>;

    fn go(
        joined: &mut Self::Joined,
        stop: &StopFlag,
        emit: &mut dyn FnMut(TestProgress),
    ) -> Result<Self::Figures, TestEngineError>;
}

/// An end that its peer can join now.
pub struct OpenedTestEnd<E: TestEngine + ?Sized> {
    pub end: E::Open,
    pub endpoint: E::Endpoint,
    pub conditions: E::Conditions,
}

#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
pub(crate) enum TestWorkerRequest<E: TestEngine> {
    Open(Box<E::Request>),
    Join(Box<E::Endpoint>),
    Go,
}

#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
pub(crate) enum TestWorkerReply<E: TestEngine> {
    Opened(Box<(E::Endpoint, E::Conditions)>),
    Joined,
    Figures(Box<E::Figures>),
}

/// One test at a time.
pub(super) struct TestWorker<E: TestEngine> {
    engine: E,
    state: State<E>,
}

enum State<E: TestEngine> {
    Idle,
    Open(E::Open),
    Joined(E::Joined),
}

impl<E: TestEngine> TestWorker<E> {
    pub(super) fn new(engine: E) -> Self {
        let state = State::Idle;
        Self { engine, state }
    }

    fn take(
        &mut self,
        ask: TestWorkerRequest<E>,
        context: &WorkerContext,
    ) -> Result<TestWorkerReply<E>, TestEngineError> {
        let state = std::mem::replace(&mut self.state, State::Idle);
        match (ask, state) {
            (TestWorkerRequest::Open(request), State::Idle) => {
                let OpenedTestEnd {
                    end,
                    endpoint,
                    conditions,
                } = self.engine.open(*request)?;
                self.state = State::Open(end);
                Ok(TestWorkerReply::Opened(Box::new((endpoint, conditions))))
            }
            (TestWorkerRequest::Join(peer), State::Open(end)) => {
                self.state = State::Joined(E::join(end, &peer, &context.stop)?);
                Ok(TestWorkerReply::Joined)
            }
            (TestWorkerRequest::Go, State::Joined(mut end)) => {
                let emit = &mut |progress| {
                    if let Ok(event) = serde_json::to_vec(&progress) {
                        context.emit(&event);
                    }
                };
                let figures = E::go(&mut end, &context.stop, emit)?;
                // It stays until the test is closed: the peer may still read from its memory.
                self.state = State::Joined(end);
                Ok(TestWorkerReply::Figures(Box::new(figures)))
            }
            _ => Err(TestEngineError::OutOfOrder),
        }
    }
}

impl<E: TestEngine> WorkerEngine for TestWorker<E> {
    fn answer(&mut self, ask: &[u8], context: &WorkerContext) -> Vec<u8> {
        let answer = match serde_json::from_slice(ask) {
            Ok(ask) => self.take(ask, context),
            Err(error) => Err(TestEngineError::worker(E::NAME, &error)),
        };
        // What cannot be written as JSON does not exist among these.
        serde_json::to_vec(&answer).unwrap_or_default()
    }
}
