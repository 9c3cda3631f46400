//! The thread of a session that carries frames in both directions, keeps the agent alive and notices its end.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::{
    agent_pipe::{AgentPipe, AgentPipeError, OutgoingFrames, PipeInput},
    calls_state::SharedCalls,
    interrupt,
    protocol::{AgentFrameReader, ProtocolError, ToAgent, encode_message},
    session::SessionError,
};

/// While a call is under way the agent is told that we are still there.
const PING_INTERVAL: Duration = Duration::from_secs(5);

/// An agent that answers no ping for this long is lost.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(15);

/// For cancellations to leave us before we end.
const CANCEL_TIMEOUT: Duration = Duration::from_millis(500);

pub(crate) struct SessionThread {
    shared: Arc<SharedCalls>,
    link: AgentPipe,
    frames: AgentFrameReader,
    outgoing: OutgoingFrames,
    pinged: Instant,
    /// When it was last heard of, or asked after it had nothing to say.
    heard: Instant,
    was_idle: bool,
}

/// What to do after a look at the calls.
enum Next {
    Close,
    Wait(Instant),
}

impl SessionThread {
    pub(crate) fn new(shared: Arc<SharedCalls>, link: AgentPipe, already_read: &[u8]) -> Self {
        let mut frames = AgentFrameReader::default();
        frames.push(already_read);
        Self {
            shared,
            link,
            frames,
            outgoing: OutgoingFrames::default(),
            pinged: Instant::now(),
            heard: Instant::now(),
            was_idle: true,
        }
    }

    /// Until the session is dropped, or fails.
    pub(crate) fn run(mut self) {
        if let Err(error) = self.run_loop() {
            self.shared.state().fail(&error);
        }
    }

    fn run_loop(&mut self) -> Result<(), SessionError> {
        loop {
            self.hand_over()?;
            let until = match self.look(Instant::now())? {
                Next::Close => return Ok(()),
                Next::Wait(until) => until,
            };
            match self.transfer(until) {
                Ok(PipeInput::Output(bytes)) => {
                    self.heard = Instant::now();
                    self.frames.push(&bytes);
                }
                Ok(PipeInput::Other) => {}
                Ok(PipeInput::End) | Err(AgentPipeError::Ended) => return Err(self.ended()),
                Err(AgentPipeError::Interrupted) => {
                    self.cancel_all();
                    return Err(SessionError::Interrupted);
                }
                Err(error) => return Err(SessionError::Link(error)),
            }
        }
    }

    fn hand_over(&mut self) -> Result<(), SessionError> {
        let broken = |error: ProtocolError| SessionError::Protocol(error);
        while let Some(frame) = self
            .frames
            .next_frame()
            .map_err(|error| broken(error.into()))?
        {
            let mut state = self.shared.state();
            let step = state.exchange.take(&frame).map_err(broken)?;
            state.hand_over(step);
        }
        Ok(())
    }

    fn look(&mut self, now: Instant) -> Result<Next, SessionError> {
        let mut state = self.shared.state();
        if state.closing {
            return Ok(Next::Close);
        }
        let idle = state.calls.is_empty();
        if self.was_idle && !idle {
            self.heard = now;
        }
        self.was_idle = idle;
        let every = if idle {
            state.keep_alive
        } else {
            PING_INTERVAL
        };
        while let Some(frame) = state.outgoing.pop() {
            self.outgoing.push(frame);
        }
        drop(state);
        if now.duration_since(self.pinged) >= every {
            self.pinged = now;
            // Where something waits to be written, that tells it as well.
            if let (true, Ok(ping)) = (
                self.outgoing.is_empty(),
                encode_message(&ToAgent::Ping, &[]),
            ) {
                self.outgoing.push(ping);
            }
        }
        let ping = self.pinged + every;
        if idle {
            return Ok(Next::Wait(ping));
        }
        let silent = self.heard + SILENCE_TIMEOUT;
        if now >= silent {
            return Err(SessionError::Silent {
                after: SILENCE_TIMEOUT,
            });
        }
        Ok(Next::Wait(ping.min(silent)))
    }

    fn transfer(&mut self, until: Instant) -> Result<PipeInput, AgentPipeError> {
        let mut besides = vec![PollFd::new(&self.shared.wake, PollFlags::IN)];
        let told = interrupt::signal_descriptor();
        besides.extend(told.map(|told| PollFd::from_borrowed_fd(told, PollFlags::IN)));
        let heard = self.link.transfer(&mut self.outgoing, &besides, until)?;
        // Nothing is lost where it is not readable: the calls are looked at in any case.
        let _ = rustix::io::read(&self.shared.wake, &mut [0; 8]);
        if let Some(told) = told {
            let mut told = [PollFd::from_borrowed_fd(told, PollFlags::IN)];
            if poll(&mut told, Some(&Timespec::default())).is_ok_and(|count| count > 0) {
                return Err(AgentPipeError::Interrupted);
            }
        }
        Ok(heard)
    }

    fn cancel_all(&mut self) {
        let open: Vec<u64> = self.shared.state().calls.keys().copied().collect();
        let cancels = open.into_iter().map(|id| ToAgent::Cancel { id });
        for message in [ToAgent::Interrupted].into_iter().chain(cancels) {
            if let Ok(frame) = encode_message(&message, &[]) {
                self.outgoing.push(frame);
            }
        }
        let until = Instant::now() + CANCEL_TIMEOUT;
        while !self.outgoing.is_empty() && Instant::now() < until {
            match self.link.transfer(&mut self.outgoing, &[], until) {
                Ok(PipeInput::Output(_) | PipeInput::Other) => {}
                Ok(PipeInput::End) | Err(_) => return,
            }
        }
    }

    fn ended(&mut self) -> SessionError {
        self.link.finish();
        let complaint = self.link.complaint();
        let last = complaint.lines().rfind(|line| !line.trim().is_empty());
        let said = last.map(|line| format!(": {}", line.trim()));
        SessionError::Ended {
            said: said.unwrap_or_default().chars().take(200).collect(),
        }
    }
}
