//! The nodes of one command, and calls to them.

use std::{
    io,
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use crosstie_agent::InProcessSession;
use crosstie_node::child_processes::signal_all;
use crosstie_reach::{
    BOUND, FanOutItemError, NodeStage, Session,
    binary::AgentBinaries,
    fan_out, fan_out_together,
    secret::{PasswordError, SharedPassword},
};
use crosstie_report::suggested_command::CommandContext;
use rustix::process::Signal;

use crate::{
    Connector, ControlEvent, EventObserver, FleetRound, NodeError, NodeReading,
    connector::{ConnectionSettings, FleetConnector, NodeRouteError, NodeSlot, route},
};

/// A machine with many cards and a slow driver stays far below; a hung driver is told apart from a slow one.
pub const COLLECT_TIMEOUT: Duration = Duration::from_secs(20);

/// For a person to type a password.
pub const PROMPT_TIMEOUT: Duration = Duration::from_secs(120);

/// How nodes are reached.
#[derive(Clone)]
pub struct FleetOptions {
    /// Become root there, with this password where sudo wants one.
    pub root: Option<Arc<SharedPassword>>,
    /// Get that password before anything else, not only once a node wants it.
    pub password_first: bool,
    /// After which a node is given up.
    pub timeout: Duration,
    /// Of all that is asked of a node together; each step has a limit of its own otherwise.
    pub overall_timeout: Option<Duration>,
    /// Instead of the user's own.
    pub ssh_config: Option<PathBuf>,
    /// Where binaries for other architectures are.
    pub agent_dir: Option<PathBuf>,
    /// Whether `netns:NAME` is a namespace of this machine. What changes nodes must not take one for a node.
    pub namespaces: bool,
    /// Somebody sits at a terminal on which ssh may ask.
    pub terminal: bool,
    /// Labs that are up, where none was named.
    pub labs: Vec<RunningLab>,
    /// For commands that are offered to a person.
    pub offer: CommandContext,
    pub observer: Arc<dyn EventObserver>,
}

/// A lab of this machine, whose nodes only `--lab NAME` finds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunningLab {
    pub name: String,
    pub nodes: Vec<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    #[error("cannot watch for Ctrl-C")]
    Signals(#[source] io::Error),
    #[error(transparent)]
    Route(#[from] NodeRouteError),
    #[error(transparent)]
    Password(#[from] PasswordError),
}

/// The nodes of one command. Their sessions stay open, so that they can be asked again.
pub struct Fleet {
    slots: Vec<Arc<NodeSlot>>,
    shared: Arc<ConnectionSettings>,
    options: Box<FleetOptions>,
    /// Each step has its own limit; this one is for what none of them foresees.
    last: Duration,
}

/// What a node is asked.
pub trait NodeWork<T>:
    Fn(usize, &dyn Session, &dyn Fn(NodeStage)) -> Result<T, NodeError> + Send + Sync + 'static
{
}

impl<T, F> NodeWork<T> for F where
    F: Fn(usize, &dyn Session, &dyn Fn(NodeStage)) -> Result<T, NodeError> + Send + Sync + 'static
{
}

type Visit<T> = Box<dyn Fn(usize, &Arc<NodeSlot>) -> Result<T, NodeError> + Send + Sync>;

impl FleetOptions {
    /// What whoever interrupts the command is told from now on.
    pub(crate) fn last_words(&self, words: &str) {
        self.observer.observe(ControlEvent::InterruptMessage(words));
    }
}

impl Fleet {
    /// No names are this machine.
    pub fn new(names: Vec<String>, options: &FleetOptions) -> Result<Self, FleetError> {
        let names = if names.is_empty() {
            vec![".".to_owned()]
        } else {
            names
        };
        if !is_this_machine(names.iter(), options.root.is_some()) {
            crosstie_reach::end_children_on_signals().map_err(FleetError::Signals)?;
        }
        let prompts = options.terminal && prompts_one_at_a_time(&names);
        let slots = names.into_iter().map(|name| {
            Ok(Arc::new(NodeSlot {
                route: route(&name, options, prompts)?,
                name,
                session: Mutex::new(None),
                given_up: AtomicBool::new(false),
            }))
        });
        let slots = slots.collect::<Result<Vec<Arc<NodeSlot>>, NodeRouteError>>()?;
        if let Some(password) = options.root.as_ref().filter(|_| options.password_first) {
            password.get()?;
        }
        let limit = options.timeout;
        let login = if prompts {
            limit.max(PROMPT_TIMEOUT)
        } else {
            limit
        };
        let answer = limit.min(COLLECT_TIMEOUT);
        let overall = options.overall_timeout;
        Ok(Self {
            slots,
            shared: Arc::new(ConnectionSettings {
                binaries: AgentBinaries::new(options.agent_dir.clone()),
                password: options.root.clone(),
                prompts,
                labs: options.labs.clone(),
                login: overall.unwrap_or(login),
                answer: overall.unwrap_or(answer),
            }),
            options: Box::new(options.clone()),
            last: overall.unwrap_or(login + answer + PROMPT_TIMEOUT),
        })
    }

    /// As they were called.
    pub fn names(&self) -> Vec<&str> {
        let slots = self.slots.iter();
        slots.map(|slot| slot.name.as_str()).collect()
    }

    pub fn options(&self) -> &FleetOptions {
        &self.options
    }

    /// Reads every node, all of them at once.
    pub fn read(&self) -> Vec<NodeReading> {
        let names = self.slots.iter().map(|slot| &slot.name);
        if is_this_machine(names, self.shared.password.is_some()) {
            return vec![this_machine(self.shared.answer)];
        }
        let answer = self.shared.answer;
        let answers = self.call(Duration::ZERO, move |_, session, progress| {
            NodeReading::over(session, answer, progress)
        });
        let readings = answers.into_iter().map(|(name, answer)| match answer {
            Ok(reading) => NodeReading { name, ..reading },
            Err(error) => NodeReading::new(name, Err(error)),
        });
        readings.collect()
    }

    /// Asks every node one question that takes so long, many of them at once.
    pub fn call<T: Send + 'static>(
        &self,
        question: Duration,
        work: impl NodeWork<T>,
    ) -> Vec<(String, Result<T, NodeError>)> {
        let last = self.last + question;
        self.call_by(work, |slots, work| fan_out(slots, BOUND, last, work))
    }

    /// As [`Fleet::call`], for calls in which nodes wait for each other: all of them at once.
    pub fn call_together<T: Send + 'static>(
        &self,
        question: Duration,
        work: impl NodeWork<T>,
    ) -> Vec<(String, Result<T, NodeError>)> {
        let last = self.last + question;
        self.call_by(work, |slots, work| fan_out_together(slots, last, work))
    }

    fn call_by<T: Send + 'static>(
        &self,
        work: impl NodeWork<T>,
        fan_out: impl FnOnce(
            Vec<Arc<NodeSlot>>,
            Visit<T>,
        ) -> Vec<Result<Result<T, NodeError>, FanOutItemError>>,
    ) -> Vec<(String, Result<T, NodeError>)> {
        let names: Vec<String> = self.slots.iter().map(|slot| slot.name.clone()).collect();
        let round = self.round(&names);
        let (shared, observed) = (Arc::clone(&self.shared), Arc::clone(&round));
        let visit = move |index: usize, slot: &Arc<NodeSlot>| {
            let stage = |stage| observed.stage(index, stage);
            let asked = |session: &dyn Session| work(index, session, &stage);
            let result = open_and_call(slot, &shared, &stage, asked);
            observed.done(index);
            result
        };
        let results = fan_out(self.slots.clone(), Box::new(visit));
        round.end();
        crosstie_reach::end_if_interrupted();
        let answers = results.into_iter().map(|result| match result {
            Ok(answer) => answer,
            Err(unfinished) => Err(unfinished.into()),
        });
        names.into_iter().zip(answers).collect()
    }

    /// The node of this place is not asked any more: every further call of it fails at once.
    pub fn give_up(&self, place: usize) {
        if let Some(slot) = self.slots.get(place) {
            slot.given_up.store(true, Ordering::SeqCst);
        }
    }

    pub(crate) fn is_given_up(&self, place: usize) -> bool {
        let slot = self.slots.get(place);
        slot.is_some_and(|slot| slot.given_up.load(Ordering::SeqCst))
    }

    /// Each node by itself, for work that keeps sessions in its own hands.
    pub fn connectors(&self) -> Vec<Arc<dyn Connector>> {
        let connector = |slot: &Arc<NodeSlot>| Arc::new(FleetConnector::new(slot, &self.shared));
        let connectors = self.slots.iter().map(connector);
        connectors
            .map(|connector| connector as Arc<dyn Connector>)
            .collect()
    }

    /// For work on nodes that are shown by these names.
    pub fn round(&self, nodes: &[String]) -> Arc<FleetRound> {
        FleetRound::begin(&self.options.observer, nodes, self.shared.prompts)
    }
}

/// It takes milliseconds: threads, progress and signal handlers would take as long again.
fn is_this_machine<'a>(mut names: impl Iterator<Item = &'a String>, root: bool) -> bool {
    !root && names.next().is_some_and(|name| name == ".") && names.next().is_none()
}

impl Drop for Fleet {
    /// Of nodes that were given up, something may still run.
    fn drop(&mut self) {
        signal_all(Signal::TERM);
    }
}

fn this_machine(deadline: Duration) -> NodeReading {
    let session = InProcessSession::default();
    let raw = session.collect(deadline, &|_| ());
    NodeReading::new(session.name().to_owned(), raw.map_err(NodeError::from))
}

fn open_and_call<T>(
    slot: &NodeSlot,
    shared: &ConnectionSettings,
    progress: &dyn Fn(NodeStage),
    work: impl FnOnce(&dyn Session) -> Result<T, NodeError>,
) -> Result<T, NodeError> {
    if slot.given_up.load(Ordering::SeqCst) {
        return Err(NodeError::GivenUp);
    }
    let started = Instant::now();
    let Ok(mut open) = slot.session.try_lock() else {
        return Err(NodeError::Busy);
    };
    // Out of its slot while in use: a session that failed is not used again.
    let session = if let Some(session) = open.take() {
        session
    } else {
        shared.open(&slot.route, shared.login, progress)?
    };
    let answer = work(session.as_ref());
    tracing::info!(node = %slot.name, seconds = started.elapsed().as_secs_f64(), "asked");
    if answer.is_ok() {
        *open = Some(session);
    }
    answer
}

/// Several at once would ask over each other.
fn prompts_one_at_a_time(names: &[String]) -> bool {
    names.iter().filter(|name| *name != ".").count() == 1
}
