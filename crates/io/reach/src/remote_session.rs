//! A session with an agent at the other end of pipes.

use std::{
    io,
    os::fd::OwnedFd,
    sync::{Arc, Condvar, PoisonError},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use crate::{
    agent_pipe::AgentPipe,
    calls_state::{SharedCalls, WaitingCall, late},
    protocol::{STREAM_WINDOW, ToAgent},
    session::{CallLimits, Session, SessionError},
    session_thread::SessionThread,
};

/// How often an agent that is asked nothing hears of us; it ends after half a minute of silence.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(5);

/// A late call is cancelled, and the agent ends it by itself as well; this is for the last word on it to arrive.
const LATE_ANSWER_TIMEOUT: Duration = Duration::from_secs(2);

/// How often a call is looked at that its caller may not want any more.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// The carrying thread does little.
const STACK: usize = 256 << 10;

pub struct RemoteSession {
    node: String,
    shared: Arc<SharedCalls>,
    carrier: Option<JoinHandle<()>>,
    refusal: Option<String>,
}

impl RemoteSession {
    pub(crate) fn new(
        node: &str,
        link: AgentPipe,
        already_read: &[u8],
        refusal: Option<String>,
    ) -> io::Result<Self> {
        let shared = Arc::new(SharedCalls::new(KEEP_ALIVE_INTERVAL)?);
        let carrier = SessionThread::new(Arc::clone(&shared), link, already_read);
        let thread = thread::Builder::new().stack_size(STACK);
        Ok(Self {
            node: node.to_owned(),
            shared,
            carrier: Some(thread.spawn(move || carrier.run())?),
            refusal,
        })
    }

    /// With an agent in this process, which reads the other end of `input` and writes to that of `output`.
    pub fn over_pipes(
        node: &str,
        input: OwnedFd,
        output: OwnedFd,
        refusal: Option<String>,
    ) -> io::Result<Self> {
        Self::new(node, AgentPipe::pipes(input, output)?, &[], refusal)
    }

    pub(crate) fn refused(mut self, why: String) -> Self {
        self.refusal = Some(why);
        self
    }

    /// Changes how often the agent hears of us between calls.
    pub fn keep_alive_every(&mut self, every: Duration) {
        self.shared.state().keep_alive = every;
        self.shared.wake();
    }
}

impl Drop for RemoteSession {
    fn drop(&mut self) {
        self.shared.state().closing = true;
        self.shared.wake();
        if let Some(carrier) = self.carrier.take() {
            let _ = carrier.join();
        }
    }
}

impl Session for RemoteSession {
    fn name(&self) -> &str {
        &self.node
    }

    fn refusal(&self) -> Option<&str> {
        self.refusal.as_deref()
    }

    fn call_raw(
        &self,
        name: &str,
        ask: &[u8],
        limits: CallLimits<'_>,
        on_event: &mut dyn FnMut(&[u8]),
        on_stream: &mut dyn FnMut(&[u8]) -> Result<(), SessionError>,
    ) -> Result<Vec<u8>, SessionError> {
        let CallLimits { deadline, .. } = limits;
        let (id, changed) = self.shared.state().begin(name, ask, deadline)?;
        self.shared.wake();
        let began = Instant::now();
        let mut call = OpenCall {
            shared: &self.shared,
            id,
            changed,
            limits,
            began,
            end: began + deadline + LATE_ANSWER_TIMEOUT,
            cancelled: None,
            consumed: 0,
        };
        loop {
            match call.next()? {
                Came::Event(event) => on_event(&event),
                Came::Stream(bytes) => {
                    on_stream(&bytes)?;
                    call.grant(bytes.len() as u64);
                }
                Came::Answer(answer) => return Ok(answer),
            }
        }
    }
}

enum Came {
    Event(Vec<u8>),
    Stream(Vec<u8>),
    Answer(Vec<u8>),
}

/// One call, as long as somebody waits for it.
struct OpenCall<'a> {
    shared: &'a SharedCalls,
    id: u64,
    changed: Arc<Condvar>,
    limits: CallLimits<'a>,
    began: Instant,
    /// When it is given up.
    end: Instant,
    cancelled: Option<Cancelled>,
    /// Bytes of the stream that are taken and not granted again.
    consumed: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Cancelled {
    Late,
    Unwanted,
}

impl OpenCall<'_> {
    fn next(&mut self) -> Result<Came, SessionError> {
        let mut state = self.shared.state();
        loop {
            let waiting = state.calls.get_mut(&self.id);
            if let Some(came) = waiting.and_then(take) {
                let is_late = self.cancelled == Some(Cancelled::Late);
                return came.map_err(|error| late(error, is_late, self.limits.deadline));
            }
            let now = Instant::now();
            if now >= self.end {
                let deadline = match self.cancelled {
                    Some(Cancelled::Unwanted) => now - self.began,
                    _ => self.limits.deadline,
                };
                return Err(SessionError::Deadline { deadline });
            }
            if self.cancelled.is_none()
                && let Some(cancelled) = self.reason_to_cancel(now)
            {
                self.cancelled = Some(cancelled);
                self.end = self.end.min(now + LATE_ANSWER_TIMEOUT);
                state.say(&ToAgent::Cancel { id: self.id });
                self.shared.wake();
            }
            let left = self.next_look().saturating_duration_since(now);
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn reason_to_cancel(&self, now: Instant) -> Option<Cancelled> {
        if now >= self.began + self.limits.deadline {
            return Some(Cancelled::Late);
        }
        let is_unwanted = self.limits.is_unwanted?;
        is_unwanted().then_some(Cancelled::Unwanted)
    }

    fn next_look(&self) -> Instant {
        let late = self.began + self.limits.deadline;
        match (self.cancelled, self.limits.is_unwanted) {
            (Some(_), _) => self.end,
            (None, Some(_)) => late.min(Instant::now() + LOOK_INTERVAL),
            (None, None) => late,
        }
    }

    /// In few messages.
    fn grant(&mut self, bytes: u64) {
        self.consumed += bytes;
        if self.consumed < STREAM_WINDOW / 4 {
            return;
        }
        let (id, bytes) = (self.id, std::mem::take(&mut self.consumed));
        self.shared.state().exchange.grant(id, bytes);
        self.shared.say(&ToAgent::Credit { id, bytes });
    }
}

impl Drop for OpenCall<'_> {
    fn drop(&mut self) {
        self.shared.state().end(self.id);
        self.shared.wake();
    }
}

/// All of the stream goes before the answer.
fn take(waiting: &mut WaitingCall) -> Option<Result<Came, SessionError>> {
    if let Some(event) = waiting.event.take() {
        return Some(Ok(Came::Event(event)));
    }
    if let Some(bytes) = waiting.stream.pop_front() {
        return Some(Ok(Came::Stream(bytes)));
    }
    let done = waiting.done.take()?;
    Some(done.map(Came::Answer))
}
