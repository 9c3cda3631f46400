//! Calls to an agent, one at a time, over a [`Link`].

use std::time::{Duration, Instant};

use crate::{
    connect::Stage,
    link::{Heard, Link, LinkError},
    protocol::{
        Answer, Event, Exchange, Failure, FrameError, Frames, FromAgent, Kind, ToAgent, What,
        encode_message,
    },
    protocol::{ProtocolError, Step},
    session::SessionError,
};

/// While a call is under way the agent is told that we are still there.
const PING: Duration = Duration::from_secs(5);

/// An agent that answers no ping for this long is lost.
const SILENCE: Duration = Duration::from_secs(15);

/// A late call is cancelled, and the agent ends it by itself as well; this is for the last word on it to arrive.
const SLACK: Duration = Duration::from_secs(2);

/// For a few bytes to leave us, where nobody should wait long.
const BRIEF: Duration = Duration::from_millis(500);

/// Pieces that are read at a time while no call is under way.
const MAX_IDLE_READS: usize = 16;

pub(crate) struct Conversation {
    link: Link,
    frames: Frames,
    calls: u64,
    /// What follows an error cannot be understood.
    broken: bool,
    pinged: Instant,
}

/// A call's time: when it should be done, and when it is given up.
#[derive(Clone, Copy)]
struct Limit {
    deadline: Duration,
    late: Instant,
    end: Instant,
}

impl Conversation {
    pub(crate) fn new(link: Link, already_read: &[u8]) -> Self {
        let mut frames = Frames::default();
        frames.push(already_read);
        Self {
            link,
            frames,
            calls: 0,
            broken: false,
            pinged: Instant::now(),
        }
    }

    pub(crate) fn call(
        &mut self,
        what: What,
        deadline: Duration,
        progress: &dyn Fn(Stage),
    ) -> Result<(Answer, Vec<u8>), SessionError> {
        if self.broken {
            return Err(SessionError::Broken);
        }
        self.calls += 1;
        // Until the last word on this call is heard, what follows is not an answer to another.
        self.broken = true;
        let result = self.exchange(what, deadline, progress)?;
        self.broken = false;
        match result {
            Err(Failure::Deadline) => Err(SessionError::Deadline { deadline }),
            result => result.map_err(SessionError::Answer),
        }
    }

    pub(crate) fn give_up(&mut self) {
        self.broken = true;
    }

    fn exchange(
        &mut self,
        what: What,
        deadline: Duration,
        progress: &dyn Fn(Stage),
    ) -> Result<Result<(Answer, Vec<u8>), Failure>, SessionError> {
        let id = self.calls;
        let late = Instant::now() + deadline;
        let limit = Limit {
            deadline,
            late,
            end: late + SLACK,
        };
        let deadline_ms = u64::try_from(deadline.as_millis()).unwrap_or(u64::MAX);
        self.say_in_time(
            &ToAgent::Call {
                id,
                deadline_ms,
                what,
            },
            limit,
        )?;
        let mut exchange = Exchange::new(id);
        let mut heard = Instant::now();
        let mut cancelled = false;
        self.pinged = heard;
        loop {
            while let Some(frame) = self.frames.next_frame().map_err(protocol)? {
                match exchange.take(&frame).map_err(SessionError::Protocol)? {
                    // That is what we cancel for.
                    Step::Done(Err(Failure::Cancelled)) if cancelled => {
                        return Ok(Err(Failure::Deadline));
                    }
                    Step::Done(result) => return Ok(result),
                    Step::Event(Event::Sending { bytes }) => progress(Stage::Receiving { bytes }),
                    Step::More | Step::Pong => {}
                }
            }
            let next = if cancelled { limit.end } else { limit.late };
            match self.link.hear_or_interrupt(next.min(self.pinged + PING)) {
                Ok(Heard::Output(bytes)) => {
                    heard = Instant::now();
                    self.frames.push(&bytes);
                }
                Ok(Heard::Other) | Err(LinkError::Deadline) => {}
                Ok(Heard::End) => return Err(self.ended()),
                Err(LinkError::Interrupted) => {
                    let _ = self.say(&ToAgent::Cancel { id }, Instant::now() + BRIEF);
                    return Err(SessionError::Interrupted);
                }
                Err(error) => return Err(SessionError::Link(error)),
            }
            let now = Instant::now();
            if now >= limit.end {
                return Err(SessionError::Deadline { deadline });
            }
            if now >= limit.late && !cancelled {
                cancelled = true;
                self.say_in_time(&ToAgent::Cancel { id }, limit)?;
            }
            if now.duration_since(heard) >= SILENCE {
                return Err(SessionError::Silent { after: SILENCE });
            }
            if now.duration_since(self.pinged) >= PING {
                self.say_in_time(&ToAgent::Ping, limit)?;
                self.pinged = now;
            }
        }
    }

    /// Tells the agent that we are still there, between calls. Whether that makes sense any more.
    pub(crate) fn keep_alive(&mut self, every: Duration) -> bool {
        if !self.broken && self.pinged.elapsed() >= every {
            self.pinged = Instant::now();
            let told = self.say(&ToAgent::Ping, Instant::now() + BRIEF);
            self.broken = told.is_err() || !self.hear_pongs();
        }
        !self.broken
    }

    /// Between calls the agent has nothing else to say.
    fn hear_pongs(&mut self) -> bool {
        for _ in 0..MAX_IDLE_READS {
            match self.link.hear(Instant::now() + Duration::from_millis(1)) {
                Ok(Heard::Output(bytes)) => self.frames.push(&bytes),
                Ok(Heard::Other) => {}
                Err(LinkError::Deadline) => break,
                Ok(Heard::End) | Err(_) => return false,
            }
            loop {
                match self.frames.next_frame() {
                    Ok(None) => break,
                    Ok(Some(frame)) if frame.kind == Kind::Message => {
                        let message = serde_json::from_slice(&frame.payload);
                        if !matches!(message, Ok(FromAgent::Pong)) {
                            return false;
                        }
                    }
                    Ok(Some(_)) | Err(_) => return false,
                }
            }
        }
        true
    }

    fn say_in_time(&mut self, message: &ToAgent, limit: Limit) -> Result<(), SessionError> {
        match self.say(message, limit.end) {
            Err(SessionError::Link(LinkError::Deadline)) => Err(SessionError::Deadline {
                deadline: limit.deadline,
            }),
            said => said,
        }
    }

    fn say(&mut self, message: &ToAgent, until: Instant) -> Result<(), SessionError> {
        let frame = encode_message(message).map_err(protocol)?;
        match self.link.say(&frame, until) {
            Ok(()) => Ok(()),
            Err(LinkError::Ended) => Err(self.ended()),
            Err(error) => Err(SessionError::Link(error)),
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

fn protocol(error: FrameError) -> SessionError {
    SessionError::Protocol(ProtocolError::from(error))
}
