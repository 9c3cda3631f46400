//! A session with an agent at the other end of a child process.

use std::time::{Duration, Instant};

use crosstie_fabric::cabling::{Listened, Probe};
use crosstie_facts::Raw;
use crosstie_node::capture;

use crate::{
    connect::Stage,
    link::{Heard, Link, LinkError},
    protocol::{
        Answer, Event, Exchange, Failure, Frames, Hello, Step, ToAgent, What, encode_message,
    },
    session::{Session, SessionError, note_refusal, with_refusal},
};

/// While a call is under way the agent is told that we are still there.
const PING: Duration = Duration::from_secs(5);

/// An agent that answers no ping for this long is lost.
const SILENCE: Duration = Duration::from_secs(15);

/// The agent ends a late call itself; this is for its answer to arrive.
const SLACK: Duration = Duration::from_secs(2);

pub struct Remote {
    node: String,
    link: Link,
    frames: Frames,
    calls: u64,
    /// Why it does not run as root though it was asked to.
    refusal: Option<String>,
    /// What follows an error cannot be understood.
    broken: bool,
}

impl Remote {
    pub(crate) fn new(
        node: &str,
        link: Link,
        already_read: &[u8],
        refusal: Option<String>,
    ) -> Self {
        let mut frames = Frames::default();
        frames.push(already_read);
        Self {
            node: node.to_owned(),
            link,
            frames,
            calls: 0,
            refusal,
            broken: false,
        }
    }

    pub(crate) fn refused(mut self, why: String) -> Self {
        self.refusal = Some(why);
        self
    }

    pub fn hello(&mut self, deadline: Duration) -> Result<Hello, SessionError> {
        match self.call(What::Hello, deadline, &|_| ())? {
            (Answer::Hello(hello), _) => Ok(hello),
            _ => Err(self.wrong_answer()),
        }
    }

    fn call(
        &mut self,
        what: What,
        deadline: Duration,
        progress: &dyn Fn(Stage),
    ) -> Result<(Answer, Vec<u8>), SessionError> {
        if self.broken {
            return Err(SessionError::Broken);
        }
        self.calls += 1;
        let result = self.exchange(what, deadline, progress);
        self.broken = matches!(&result, Err(error) if !matches!(error, SessionError::Answer(_)));
        result
    }

    fn exchange(
        &mut self,
        what: What,
        deadline: Duration,
        progress: &dyn Fn(Stage),
    ) -> Result<(Answer, Vec<u8>), SessionError> {
        let id = self.calls;
        let until = Instant::now() + deadline + SLACK;
        let deadline_ms = u64::try_from(deadline.as_millis()).unwrap_or(u64::MAX);
        let call = ToAgent::Call {
            id,
            deadline_ms,
            what,
        };
        self.say(&call, until, deadline)?;
        let mut exchange = Exchange::new(id);
        let mut heard = Instant::now();
        let mut pinged = heard;
        loop {
            while let Some(frame) = self.frames.next_frame().map_err(protocol)? {
                match exchange.take(&frame).map_err(SessionError::Protocol)? {
                    Step::Done(Err(Failure::Deadline)) => {
                        return Err(SessionError::Deadline { deadline });
                    }
                    Step::Done(result) => return result.map_err(SessionError::Answer),
                    Step::Event(Event::Sending { bytes }) => progress(Stage::Receiving { bytes }),
                    Step::More | Step::Pong => {}
                }
            }
            match self.link.hear(until.min(pinged + PING)) {
                Ok(Heard::Output(bytes)) => {
                    heard = Instant::now();
                    self.frames.push(&bytes);
                }
                Ok(Heard::Other) | Err(LinkError::Deadline) => {}
                Ok(Heard::End) => return Err(self.ended()),
                Err(error) => return Err(SessionError::Link(error)),
            }
            let now = Instant::now();
            if now >= until {
                return Err(SessionError::Deadline { deadline });
            }
            if now.duration_since(heard) >= SILENCE {
                return Err(SessionError::Silent { after: SILENCE });
            }
            if now.duration_since(pinged) >= PING {
                pinged = now;
                self.say(&ToAgent::Ping, until, deadline)?;
            }
        }
    }

    fn say(
        &mut self,
        message: &ToAgent,
        until: Instant,
        deadline: Duration,
    ) -> Result<(), SessionError> {
        let frame = encode_message(message).map_err(protocol)?;
        match self.link.say(&frame, until) {
            Ok(()) => Ok(()),
            Err(LinkError::Ended) => Err(self.ended()),
            Err(LinkError::Deadline) => Err(SessionError::Deadline { deadline }),
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

    fn wrong_answer(&mut self) -> SessionError {
        self.broken = true;
        SessionError::WrongAnswer
    }
}

fn protocol(error: crate::protocol::FrameError) -> SessionError {
    SessionError::Protocol(error.into())
}

impl Session for Remote {
    fn name(&self) -> &str {
        &self.node
    }

    fn collect(
        &mut self,
        deadline: Duration,
        progress: &dyn Fn(Stage),
    ) -> Result<Raw, SessionError> {
        progress(Stage::Reading);
        let (answer, packed) = self.call(What::Collect, deadline, progress)?;
        if !matches!(answer, Answer::Collected { .. }) {
            return Err(self.wrong_answer());
        }
        let mut raw = capture::unpack(&packed).map_err(SessionError::Capture)?;
        note_refusal(&mut raw, self.refusal.as_deref());
        Ok(raw)
    }

    fn cabling(
        &mut self,
        probe: &Probe,
        deadline: Duration,
        progress: &dyn Fn(Stage),
    ) -> Result<Listened, SessionError> {
        progress(Stage::Listening);
        match self.call(What::Cabling(probe.clone()), deadline, progress)? {
            (Answer::Cabling(listened), _) => {
                listened.map_err(|error| with_refusal(error, self.refusal.as_deref()))
            }
            _ => Err(self.wrong_answer()),
        }
    }
}
