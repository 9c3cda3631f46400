//! The agent: answers calls on standard input and output, until nobody is there any more.
//!
//! The thread that reads does nothing else, so that a call that hangs, or a controller that does not listen, cannot keep
//! the agent from noticing that it is alone.

use std::{
    io::{self, Write},
    os::fd::AsFd,
    sync::{Arc, Weak},
    thread,
    time::{Duration, Instant},
};

use crosstie_reach::{
    EndOnSignal, end_on_signals,
    protocol::{AgentFrameKind, AgentFrameReader, FrameError, MAGIC, MAX_CALLS, ToAgent},
};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
};
use thiserror::Error;

use crate::{
    call::Call,
    calls::{
        hello::HelloCall,
        home_lease::HomeLeaseCall,
        trust::{PushedAgent, TrustCall},
    },
    output::AgentOutput,
    resources::SessionResources,
    running_calls::RunningCalls,
    table::CallTableRow,
    writer::write_frames,
};

/// A controller that says nothing for this long is gone; it pings far more often.
pub const SILENCE_TIMEOUT: Duration = Duration::from_secs(30);

/// Calls that run or whose answer is not read yet. A controller has fewer, but may have given some up.
const MOST_CALLS: usize = 2 * MAX_CALLS;

/// Why the agent stopped other than by the controller's leaving.
#[derive(Debug, Error)]
pub enum ServeError {
    #[error("nothing came from the controller for {} s", .0.as_secs())]
    Silence(Duration),
    #[error("cannot read from the controller")]
    Read(#[source] io::Error),
    #[error("cannot write to the controller")]
    Write(#[source] io::Error),
    #[error("the controller sent {0}")]
    Frame(#[from] FrameError),
    #[error("the controller sent a message that cannot be read")]
    Message(#[source] serde_json::Error),
    #[error("the controller makes more than {MOST_CALLS} calls at once")]
    TooManyCalls,
}

#[derive(Debug, Clone, Copy)]
pub struct ServeOptions {
    pub silence: Duration,
    pub table: &'static [CallTableRow],
}

/// Says which build it is, and serves until the input ends. What the session holds is dropped then; what else calls have
/// started is the caller's to end, with the process.
pub fn serve(
    input: impl AsFd,
    mut output: impl Write + Send + 'static,
    build: &str,
    options: ServeOptions,
) -> Result<(), ServeError> {
    let version = env!("CARGO_PKG_VERSION");
    let session = AgentSession::new(options);
    // The first, so that it goes last, and before anything is said: who should hear it may be gone.
    session.resources.with_only(|_: &mut PushedAgent| ());
    write!(output, "\n{MAGIC} agent {build} {version}\n")
        .and_then(|()| output.flush())
        .map_err(ServeError::Write)?;
    session.serve(input, output)
}

/// What one controller has of an agent.
pub(crate) struct AgentSession {
    pub(crate) output: Arc<AgentOutput>,
    running: RunningCalls,
    resources: Arc<SessionResources>,
    silence: Duration,
}

impl AgentSession {
    pub(crate) fn new(options: ServeOptions) -> Self {
        let output = Arc::<AgentOutput>::default();
        let resources = Arc::<SessionResources>::default();
        let running = RunningCalls::new(options.table, Arc::clone(&resources), Arc::clone(&output));
        let on_signals: Weak<SessionResources> = Arc::downgrade(&resources);
        end_on_signals(on_signals);
        Self {
            output,
            running,
            resources,
            silence: options.silence,
        }
    }

    pub(crate) fn serve(
        &self,
        input: impl AsFd,
        output: impl Write + Send + 'static,
    ) -> Result<(), ServeError> {
        let lanes = Arc::clone(&self.output);
        let writer = thread::Builder::new().spawn(move || write_frames(output, &lanes));
        let served = writer
            .map_err(ServeError::Write)
            .and_then(|_| self.read(input));
        self.end();
        served
    }

    /// Children go last: until then they are a part of what is restored.
    pub(crate) fn end(&self) {
        self.running.stop_all();
        self.resources.end();
        self.running.end_children();
        self.output.close();
    }

    fn read(&self, input: impl AsFd) -> Result<(), ServeError> {
        let mut frames = AgentFrameReader::default();
        let mut heard = Instant::now();
        let mut buffer = vec![0; 64 << 10];
        loop {
            let now = Instant::now();
            self.running.expire(now);
            let alone = heard + self.silence;
            if now >= alone {
                return Err(ServeError::Silence(self.silence));
            }
            let next = self.running.next_deadline();
            let until = next.map_or(alone, |next| next.min(alone));
            if !readable(&input, until.saturating_duration_since(now))? {
                continue;
            }
            let length = match rustix::io::read(&input, &mut buffer[..]) {
                Ok(0) => return Ok(()),
                Ok(length) => length,
                Err(Errno::INTR | Errno::AGAIN) => continue,
                Err(errno) => return Err(ServeError::Read(errno.into())),
            };
            heard = Instant::now();
            frames.push(&buffer[..length]);
            while let Some(frame) = frames.next_frame()? {
                if frame.kind != AgentFrameKind::Message {
                    return Err(FrameError::Kind(frame.kind as u8).into());
                }
                let (message, body) = frame.message().map_err(ServeError::Message)?;
                self.take(message, body)?;
            }
        }
    }

    fn take(&self, message: ToAgent, body: &[u8]) -> Result<(), ServeError> {
        if let ToAgent::Call { name, .. } = &message {
            if self.running.count() + self.output.unwritten() >= MOST_CALLS {
                return Err(ServeError::TooManyCalls);
            }
            // Of these the first two change nothing, and the third writes down that the agent stays.
            if ![HelloCall::NAME, HomeLeaseCall::NAME, TrustCall::NAME].contains(&name.as_str()) {
                self.resources.with_only(PushedAgent::stay);
            }
        }
        self.running.take(message, body);
        Ok(())
    }
}

fn readable(input: &impl AsFd, wait: Duration) -> Result<bool, ServeError> {
    let mut waited = [PollFd::new(input, PollFlags::IN)];
    let timeout = Timespec::try_from(wait).ok();
    match poll(&mut waited, timeout.as_ref()) {
        Ok(count) => Ok(count > 0),
        Err(Errno::INTR) => Ok(false),
        Err(errno) => Err(ServeError::Read(errno.into())),
    }
}
