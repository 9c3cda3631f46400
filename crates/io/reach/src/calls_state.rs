//! The calls of a session that wait for their answer, shared between those who call and the thread that carries frames.

use std::{
    collections::{HashMap, VecDeque},
    os::fd::OwnedFd,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use rustix::event::{EventfdFlags, eventfd};

use crate::{
    agent_pipe::OutgoingFrames,
    protocol::{CallExchange, CallFailure, ExchangeEvent, MAX_CALLS, ToAgent, encode_message},
    session::SessionError,
};

pub(crate) struct SharedCalls {
    state: Mutex<CallsState>,
    /// Readable when the carrying thread has something to do.
    pub(crate) wake: OwnedFd,
}

pub(crate) struct CallsState {
    last_id: u64,
    pub(crate) calls: HashMap<u64, WaitingCall>,
    pub(crate) exchange: CallExchange,
    pub(crate) outgoing: OutgoingFrames,
    /// How often the agent hears of us between calls.
    pub(crate) keep_alive: Duration,
    pub(crate) closing: bool,
    failure: Option<SessionError>,
}

pub(crate) struct WaitingCall {
    pub(crate) changed: Arc<Condvar>,
    /// The latest that nobody has seen.
    pub(crate) event: Option<Vec<u8>>,
    /// No longer than what was granted.
    pub(crate) stream: VecDeque<Vec<u8>>,
    pub(crate) done: Option<Result<Vec<u8>, SessionError>>,
}

impl SharedCalls {
    pub(crate) fn new(keep_alive: Duration) -> std::io::Result<Self> {
        let state = CallsState {
            last_id: 0,
            calls: HashMap::new(),
            exchange: CallExchange::default(),
            outgoing: OutgoingFrames::default(),
            keep_alive,
            closing: false,
            failure: None,
        };
        Ok(Self {
            state: Mutex::new(state),
            wake: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
        })
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, CallsState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn wake(&self) {
        // It is readable already where this does not fit.
        let _ = rustix::io::write(&self.wake, &1u64.to_ne_bytes());
    }

    pub(crate) fn say(&self, message: &ToAgent) {
        self.state().say(message);
        self.wake();
    }
}

impl CallsState {
    pub(crate) fn begin(
        &mut self,
        name: &str,
        ask: &[u8],
        deadline: Duration,
    ) -> Result<(u64, Arc<Condvar>), SessionError> {
        if let Some(failure) = &mut self.failure {
            return Err(std::mem::replace(failure, SessionError::Broken));
        }
        if self.calls.len() >= MAX_CALLS {
            return Err(SessionError::TooManyCalls);
        }
        let id = self.last_id + 1;
        let call = ToAgent::Call {
            id,
            deadline_ms: u64::try_from(deadline.as_millis()).unwrap_or(u64::MAX),
            name: name.to_owned(),
        };
        let frame = encode_message(&call, ask).map_err(SessionError::AskTooLong)?;
        self.last_id = id;
        self.outgoing.push(frame);
        self.exchange.begin(id);
        let changed = Arc::new(Condvar::new());
        let waiting = WaitingCall {
            changed: Arc::clone(&changed),
            event: None,
            stream: VecDeque::new(),
            done: None,
        };
        self.calls.insert(id, waiting);
        Ok((id, changed))
    }

    pub(crate) fn say(&mut self, message: &ToAgent) {
        // Messages without bytes are short.
        if let Ok(frame) = encode_message(message, &[]) {
            self.outgoing.push(frame);
        }
    }

    /// Hands what came to the call that it is for.
    pub(crate) fn hand_over(&mut self, step: ExchangeEvent) {
        let (id, step) = match step {
            ExchangeEvent::Pong | ExchangeEvent::Ignored => return,
            ExchangeEvent::Event { id, .. }
            | ExchangeEvent::Stream { id, .. }
            | ExchangeEvent::Done { id, .. } => (id, step),
        };
        let Some(waiting) = self.calls.get_mut(&id) else {
            return;
        };
        match step {
            ExchangeEvent::Event { event, .. } => waiting.event = Some(event),
            ExchangeEvent::Stream { bytes, .. } => waiting.stream.push_back(bytes),
            ExchangeEvent::Done { result, .. } => {
                waiting.done = Some(result.map_err(SessionError::Failed));
            }
            ExchangeEvent::Pong | ExchangeEvent::Ignored => {}
        }
        waiting.changed.notify_all();
    }

    /// Nobody is answered any more. The next who calls is told why if nobody was; others, that it is so.
    pub(crate) fn fail(&mut self, error: &SessionError) {
        let mut told = false;
        for waiting in self.calls.values_mut().filter(|call| call.done.is_none()) {
            waiting.done = Some(Err(error.clone()));
            waiting.changed.notify_all();
            told = true;
        }
        self.failure = Some(if told {
            SessionError::Broken
        } else {
            error.clone()
        });
    }

    /// The agent is told where it may still work on it.
    pub(crate) fn end(&mut self, id: u64) {
        self.calls.remove(&id);
        if self.exchange.abandon(id) {
            self.say(&ToAgent::Cancel { id });
        }
    }
}

/// What the agent says of a call that is late is that it was late, whoever noticed first.
pub(crate) fn late(error: SessionError, cancelled: bool, deadline: Duration) -> SessionError {
    match error {
        SessionError::Failed(CallFailure::Deadline) => SessionError::Deadline { deadline },
        SessionError::Failed(CallFailure::Cancelled) if cancelled => {
            SessionError::Deadline { deadline }
        }
        error => error,
    }
}
