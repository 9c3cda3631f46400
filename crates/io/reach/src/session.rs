//! Typed calls to a node, wherever it is.

use std::{sync::mpsc::RecvTimeoutError, time::Duration};

use crosstie_fabric::cabling::{Listened, Probe};
use crosstie_facts::{Entry, Gap, Raw};
use crosstie_node::{
    cabling::{self, CablingError, Stop},
    capture::LoadError,
};
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

    /// Says the node's name on interfaces and listens there, as root.
    fn cabling(
        &mut self,
        probe: &Probe,
        deadline: Duration,
        progress: &dyn Fn(Stage),
    ) -> Result<Listened, SessionError>;
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
    #[error("the agent answered: {0}")]
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
    #[error("an earlier call broke the connection")]
    Broken,
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

    /// A driver can hang a read for as long as it likes, so the reading is done beside us.
    fn collect(
        &mut self,
        deadline: Duration,
        progress: &dyn Fn(Stage),
    ) -> Result<Raw, SessionError> {
        progress(Stage::Reading);
        let (sender, receiver) = std::sync::mpsc::channel();
        std::thread::spawn(move || sender.send(crosstie_node::collect()));
        let raw = receiver.recv_timeout(deadline);
        let mut raw = raw.map_err(|error| match error {
            RecvTimeoutError::Timeout => SessionError::Deadline { deadline },
            RecvTimeoutError::Disconnected => SessionError::Lost,
        })?;
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
        let (sender, receiver) = std::sync::mpsc::channel();
        let (probe, stop) = (probe.clone(), Stop::default());
        let asked = stop.clone();
        std::thread::spawn(move || {
            sender.send(cabling::probe(&probe, &asked, cabling::STATE.as_ref()))
        });
        let listened = receiver.recv_timeout(deadline).map_err(|error| {
            stop.set();
            match error {
                RecvTimeoutError::Timeout => SessionError::Deadline { deadline },
                RecvTimeoutError::Disconnected => SessionError::Lost,
            }
        })?;
        listened.map_err(|error| with_refusal(error, self.refusal.as_deref()))
    }
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

/// Root was asked for and not given: that is why some of it is missing.
pub(crate) fn note_refusal(raw: &mut Raw, refusal: Option<&str>) {
    if let Some(why) = refusal {
        let why = why.chars().take(300).collect();
        raw.insert_command("sudo", Entry::Gap(Gap::Failed(why)));
    }
}
