//! One question to a node that is changed.

use std::{
    fmt, thread,
    time::{Duration, Instant},
};

use crosstie_agent::{CallError, NodeCalls};
use crosstie_model::change::{Ask, ChangeError, Changed, Probe};
use crosstie_reach::{Session, SessionError, Stage};

use super::probes::words;

/// How long each thing may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// To probe, to confirm, and to say how things stand.
    pub(crate) answer: Duration,
    /// For a new connection.
    pub(crate) connect: Duration,
    /// To put everything back.
    pub(crate) back: Duration,
    /// Links and leases may take a moment to come back: nobody is rolled back before it has passed.
    pub(crate) settle: Duration,
    /// Between two tries.
    pub(crate) pause: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            // A loaded or emulated machine takes its time to start an agent; the guard's time is the true limit.
            answer: Duration::from_secs(60),
            connect: Duration::from_secs(45),
            back: Duration::from_secs(200),
            settle: Duration::from_secs(60),
            pause: Duration::from_secs(1),
        }
    }
}

/// Why there is no good answer.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The node says so.
    Said(ChangeError),
    /// Nobody knows what the node did.
    Contact(String),
}

impl fmt::Display for Trouble {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Said(error) => error.fmt(formatter),
            Self::Contact(why) => formatter.write_str(why),
        }
    }
}

impl Trouble {
    fn contact(error: impl Into<anyhow::Error>) -> Self {
        Self::Contact(format!("{:#}", error.into()))
    }

    /// A node that answers another question is not understood.
    pub(super) fn odd() -> Self {
        Self::Contact(SessionError::WrongAnswer.to_string())
    }
}

pub(super) fn ask(
    session: &dyn Session,
    ask: &Ask,
    deadline: Duration,
    progress: &dyn Fn(Stage),
) -> Result<Changed, Trouble> {
    let answer = session.change(ask, deadline, progress);
    answer.map_err(|error| match error {
        CallError::Call(error) => Trouble::Said(error),
        CallError::Session(error) => Trouble::contact(error),
    })
}

/// Asks again for as long as the node's guard, or another command, is at work there.
pub(super) fn ask_when_free(
    session: &dyn Session,
    question: &Ask,
    deadline: Duration,
    limits: &Limits,
    progress: &dyn Fn(Stage),
) -> Result<Changed, Trouble> {
    let end = Instant::now() + limits.back;
    loop {
        let answer = ask(session, question, deadline, progress);
        let busy = matches!(answer, Err(Trouble::Said(ChangeError::Busy { .. })));
        if !busy || Instant::now() + limits.pause >= end {
            return answer;
        }
        progress(Stage::Waiting);
        thread::sleep(limits.pause);
    }
}

/// Of these probes, those that are answered, and those that are not with the reason.
pub(super) fn reach(
    session: &dyn Session,
    probes: &[Probe],
    limits: &Limits,
    progress: &dyn Fn(Stage),
) -> Result<(Vec<Probe>, Vec<String>), Trouble> {
    if probes.is_empty() {
        return Ok((Vec::new(), Vec::new()));
    }
    let answers = session.reach(probes, limits.answer, progress);
    let answers = answers.map_err(Trouble::contact)?;
    let (mut passed, mut failed) = (Vec::new(), Vec::new());
    for probe in probes {
        let answer = answers.iter().find(|answer| answer.probe == *probe);
        match answer.map(|answer| &answer.problem) {
            Some(None) => passed.push(probe.clone()),
            Some(Some(why)) => failed.push(format!("{} ({why})", words(probe))),
            None => failed.push(words(probe)),
        }
    }
    Ok((passed, failed))
}
