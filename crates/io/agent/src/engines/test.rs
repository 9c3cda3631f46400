//! One end of a test between two nodes, whatever it measures with: open → join → go, once each, in a worker.

use crosstie_figures::Progress;
use crosstie_node::{
    Stop,
    worker::{Engine, EngineContext},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{EngineError, EngineName};

/// What the two ends and the wire have to be able to carry.
pub trait Message: Serialize + DeserializeOwned + Send + Sync + std::fmt::Debug + 'static {}

impl<T: Serialize + DeserializeOwned + Send + Sync + std::fmt::Debug + 'static> Message for T {}

/// What an engine is, beyond the order in which it is asked.
pub trait TestEngine: 'static {
    const NAME: EngineName;
    type Request: Message;
    /// What the peer has to know to join.
    type Endpoint: Message + Clone;
    /// What an end runs with.
    type Conditions: Message;
    type Figures: Message;
    type Open;
    type Joined;

    fn open(&self, request: Self::Request) -> Result<OpenEnd<Self>, EngineError>;

    fn join(
        open: Self::Open,
        peer: &Self::Endpoint,
        stop: &Stop,
    ) -> Result<Self::Joined, EngineError>;

    fn go(
        joined: &mut Self::Joined,
        stop: &Stop,
        emit: &mut dyn FnMut(Progress),
    ) -> Result<Self::Figures, EngineError>;
}

/// An end that its peer can join now.
pub struct OpenEnd<E: TestEngine + ?Sized> {
    pub end: E::Open,
    pub endpoint: E::Endpoint,
    pub conditions: E::Conditions,
}

#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
pub(crate) enum Ask<E: TestEngine> {
    Open(Box<E::Request>),
    Join(Box<E::Endpoint>),
    Go,
}

#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
pub(crate) enum Answer<E: TestEngine> {
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

    fn take(&mut self, ask: Ask<E>, context: &EngineContext) -> Result<Answer<E>, EngineError> {
        let state = std::mem::replace(&mut self.state, State::Idle);
        match (ask, state) {
            (Ask::Open(request), State::Idle) => {
                let OpenEnd {
                    end,
                    endpoint,
                    conditions,
                } = self.engine.open(*request)?;
                self.state = State::Open(end);
                Ok(Answer::Opened(Box::new((endpoint, conditions))))
            }
            (Ask::Join(peer), State::Open(end)) => {
                self.state = State::Joined(E::join(end, &peer, &context.stop)?);
                Ok(Answer::Joined)
            }
            (Ask::Go, State::Joined(mut end)) => {
                let emit = &mut |progress| {
                    if let Ok(event) = serde_json::to_vec(&progress) {
                        context.emit(&event);
                    }
                };
                let figures = E::go(&mut end, &context.stop, emit)?;
                // It stays until the test is closed: the peer may still read from its memory.
                self.state = State::Joined(end);
                Ok(Answer::Figures(Box::new(figures)))
            }
            _ => Err(EngineError::OutOfOrder),
        }
    }
}

impl<E: TestEngine> Engine for TestWorker<E> {
    fn answer(&mut self, ask: &[u8], context: &EngineContext) -> Vec<u8> {
        let answer = match serde_json::from_slice(ask) {
            Ok(ask) => self.take(ask, context),
            Err(error) => Err(EngineError::worker(E::NAME, &error)),
        };
        // What cannot be written as JSON does not exist among these.
        serde_json::to_vec(&answer).unwrap_or_default()
    }
}
