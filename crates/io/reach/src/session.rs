//! Typed calls to a node, wherever it is.

use std::{
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::Duration,
};

use crosstie_fabric::cabling::{Listened, Probe};
use crosstie_facts::{Entry, Gap, Raw};
use crosstie_model::change::{self, ChangeError, Changed};
use crosstie_node::{
    cabling::{self, CablingError, Stop},
    capture::LoadError,
    groups::Work,
    trust::{self, Ask, Home, Settled},
};
use crosstie_trust::AgentMade;
use thiserror::Error;

use crate::{
    connect::Stage,
    link::LinkError,
    protocol::{Failure, ProtocolError},
};

/// A node that can be asked. Every call carries a deadline and is answered once.
pub trait Session: Send {
    /// What the person called the node.
    fn name(&self) -> &str;

    /// Everything that facts are parsed from, in one answer.
    fn collect(
        &mut self,
        deadline: Duration,
        progress: &dyn Fn(Stage),
    ) -> Result<Raw, SessionError>;

    /// Changes who may log in to the user's account there, and what it knows of others.
    fn trust(
        &mut self,
        ask: &Ask,
        deadline: Duration,
        progress: &dyn Fn(Stage),
    ) -> Result<Settled, SessionError>;

    /// Says the node's name on interfaces and listens there, as root.
    fn cabling(
        &mut self,
        probe: &Probe,
        deadline: Duration,
        progress: &dyn Fn(Stage),
    ) -> Result<Listened, SessionError>;

    /// Changes the node under a guard, or asks what became of a change. As root, except to probe.
    fn change(
        &mut self,
        ask: &change::Ask,
        deadline: Duration,
        progress: &dyn Fn(Stage),
    ) -> Result<Changed, SessionError>;
}

/// Why a call has no answer. Each text goes behind the node's name.
#[derive(Debug, Error)]
pub enum SessionError {
    #[error("no answer within {} s", .deadline.as_secs())]
    Deadline { deadline: Duration },
    #[error("it has not been heard of for {} s: it hangs, or the network to it is cut", .after.as_secs())]
    Silent { after: Duration },
    #[error("collecting stopped half way; this is a bug, please report it")]
    Lost,
    #[error("the agent ended in the middle of a call{said}")]
    Ended { said: String },
    #[error("{0}")]
    Answer(Failure),
    #[error("the agent does not speak as one of ours")]
    Protocol(#[source] ProtocolError),
    #[error("the agent answered another question than was asked")]
    WrongAnswer,
    #[error("what the agent read cannot be used")]
    Capture(#[source] LoadError),
    #[error("the connection failed")]
    Link(#[source] LinkError),
    #[error(transparent)]
    Cabling(CablingError),
    #[error(transparent)]
    Change(ChangeError),
    #[error("an earlier call broke the connection")]
    Broken,
    #[error("it was interrupted")]
    Interrupted,
}

/// The machine that this process runs on (`.`).
#[derive(Debug, Default)]
pub struct InProcess {
    pub(crate) refusal: Option<String>,
}

impl Session for InProcess {
    fn name(&self) -> &'static str {
        "."
    }

    fn collect(
        &mut self,
        deadline: Duration,
        progress: &dyn Fn(Stage),
    ) -> Result<Raw, SessionError> {
        progress(Stage::Reading);
        let work = Work::within(deadline);
        let shared = work.clone();
        let raw = beside_us(deadline, move || shared.run(crosstie_node::collect));
        let mut raw = raw.inspect_err(|_| work.stop())?;
        note_refusal(&mut raw, self.refusal.as_deref());
        Ok(raw)
    }

    fn trust(
        &mut self,
        ask: &Ask,
        _deadline: Duration,
        progress: &dyn Fn(Stage),
    ) -> Result<Settled, SessionError> {
        progress(Stage::Changing);
        trust_here(ask, None).map_err(|why| SessionError::Answer(Failure::Refused { why }))
    }

    fn cabling(
        &mut self,
        probe: &Probe,
        deadline: Duration,
        progress: &dyn Fn(Stage),
    ) -> Result<Listened, SessionError> {
        progress(Stage::Listening);
        let (probe, stop) = (probe.clone(), Stop::default());
        let asked = stop.clone();
        let listened = beside_us(deadline, move || {
            cabling::probe(&probe, &asked, cabling::STATE.as_ref())
        });
        let listened = listened.inspect_err(|_| stop.set())?;
        listened.map_err(|error| with_refusal(error, self.refusal.as_deref()))
    }

    fn change(
        &mut self,
        ask: &change::Ask,
        deadline: Duration,
        progress: &dyn Fn(Stage),
    ) -> Result<Changed, SessionError> {
        progress(Stage::from(ask));
        let ask = ask.clone();
        let changed = beside_us(deadline, move || crosstie_node::change::answer(&ask))?;
        changed.map_err(|error| change_refusal(error, self.refusal.as_deref()))
    }
}

/// A driver can hang a call for as long as it likes.
fn beside_us<T: Send + 'static>(
    deadline: Duration,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, SessionError> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || sender.send(work()));
    receiver
        .recv_timeout(deadline)
        .map_err(|error| match error {
            RecvTimeoutError::Timeout => SessionError::Deadline { deadline },
            RecvTimeoutError::Disconnected => SessionError::Lost,
        })
}

/// In the home directory of this process's user.
pub(crate) fn trust_here(ask: &Ask, pushed: Option<&AgentMade>) -> Result<Settled, String> {
    let settled = Home::find().and_then(|home| trust::answer(&home, ask, pushed));
    settled.map_err(|error| {
        let mut why = error.to_string();
        let mut source = std::error::Error::source(&error);
        while let Some(error) = source {
            why = format!("{why}: {error}");
            source = error.source();
        }
        why
    })
}

/// What sudo said is why there is no root.
pub(crate) fn with_refusal(error: CablingError, refusal: Option<&str>) -> SessionError {
    SessionError::Cabling(match (error, refusal) {
        (CablingError::NotRoot { .. }, Some(why)) => CablingError::NotRoot {
            why: why.chars().take(300).collect(),
        },
        (error, _) => error,
    })
}

pub(crate) fn change_refusal(error: ChangeError, refusal: Option<&str>) -> SessionError {
    SessionError::Change(match (error, refusal) {
        (ChangeError::NotRoot { .. }, Some(why)) => ChangeError::NotRoot {
            why: why.chars().take(300).collect(),
        },
        (error, _) => error,
    })
}

/// Root was asked for and not given: that is why some of it is missing.
pub(crate) fn note_refusal(raw: &mut Raw, refusal: Option<&str>) {
    if let Some(why) = refusal {
        let why = why.chars().take(300).collect();
        raw.insert_command("sudo", Entry::Gap(Gap::Failed(why)));
    }
}
