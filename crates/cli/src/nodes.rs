//! The nodes of a command line, and what is read of them.

mod door;
#[cfg(test)]
pub(crate) mod made_up;

use std::{
    io::{self, IsTerminal},
    sync::{Arc, Mutex},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use anyhow::Context;
use clap::ColorChoice;
use crosstie_agent::{InProcess, NodeCalls, open};
use crosstie_doctor::{ClockOffset, clock::milliseconds};
use crosstie_node::groups::signal_all;
use crosstie_reach::{
    BOUND, Route, Session, Stage, Unfinished, Wanted,
    binary::Binaries,
    fan_out, fan_out_together,
    secret::{Password, Purpose, Source},
    ssh::{Login, SshOptions},
};
pub(crate) use door::Door;
use door::Entrance;
use rustix::process::Signal;

use crate::{
    args::Reach,
    output,
    progress::{Progress, View},
    targets::Reading,
};

/// A machine with many cards and a slow driver stays far below; a hung driver is told apart from a slow one.
pub(crate) const COLLECT: Duration = Duration::from_secs(20);

/// For ssh to get a first word from a node.
pub(crate) const CONNECT: Duration = Duration::from_secs(10);

/// For a person to type a password.
pub(crate) const PERSON: Duration = Duration::from_secs(120);

/// The nodes of one command. Their sessions stay open, so that they can be asked again.
pub(crate) struct Fleet {
    places: Vec<Arc<Place>>,
    common: Arc<Common>,
    /// Each step has its own limit; this one is for what none of them foresees.
    last: Duration,
    /// Progress is drawn.
    draws: bool,
    view: Option<View>,
}

/// One node.
struct Place {
    name: String,
    route: Route,
    session: Mutex<Option<Box<dyn Session>>>,
    clock: Mutex<Option<ClockOffset>>,
}

/// What a node is asked.
pub(crate) trait NodeWork<T>:
    Fn(usize, &dyn Session, &dyn Fn(Stage)) -> anyhow::Result<T> + Send + Sync + 'static
{
}

impl<T, F> NodeWork<T> for F where
    F: Fn(usize, &dyn Session, &dyn Fn(Stage)) -> anyhow::Result<T> + Send + Sync + 'static
{
}

type Visit<T> = Box<dyn Fn(usize, &Arc<Place>) -> Result<T, String> + Send + Sync>;

/// What all nodes have in common.
struct Common {
    binaries: Binaries,
    password: Option<Password>,
    /// ssh may ask on the terminal.
    prompts: bool,
    /// Up to the agent's first word.
    login: Duration,
    answer: Duration,
}

impl Common {
    fn open(
        &self,
        route: &Route,
        deadline: Duration,
        progress: &dyn Fn(Stage),
    ) -> Result<Box<dyn Session>, String> {
        let wanted = Wanted {
            binaries: &self.binaries,
            root: self.password.as_ref(),
            deadline,
            progress,
        };
        open(route, &wanted).map_err(told)
    }
}

impl Fleet {
    pub(crate) fn new(
        names: Vec<String>,
        reach: &Reach,
        colour: ColorChoice,
    ) -> anyhow::Result<Self> {
        let names = if names.is_empty() {
            vec![".".to_owned()]
        } else {
            names
        };
        if !is_this_machine(names.iter(), reach.sudo) {
            crosstie_reach::end_children_on_signals().context("cannot watch for Ctrl-C")?;
        }
        let limit = Duration::from_secs(reach.ways.timeout.into());
        let prompts = may_prompt(&names);
        let places = names
            .into_iter()
            .map(|name| {
                Ok(Arc::new(Place {
                    route: route(&name, reach, prompts)?,
                    name,
                    session: Mutex::new(None),
                    clock: Mutex::new(None),
                }))
            })
            .collect::<anyhow::Result<Vec<Arc<Place>>>>()?;
        let common = Arc::new(Common {
            binaries: Binaries::new(reach.ways.agent_dir.clone()),
            password: password(reach)?,
            prompts,
            login: if prompts { limit.max(PERSON) } else { limit },
            answer: limit.min(COLLECT),
        });
        Ok(Self {
            places,
            last: common.login + common.answer + PERSON,
            common,
            draws: output::draws(colour),
            view: None,
        })
    }

    /// The same nodes, with everything that is asked of them bounded by `limit`.
    pub(crate) fn within(self, limit: Duration) -> Self {
        let mut fleet = self;
        fleet.last = limit;
        // Nobody else has it before the first reading.
        if let Some(common) = Arc::get_mut(&mut fleet.common) {
            common.login = limit;
            common.answer = limit;
        }
        fleet
    }

    /// Progress is drawn so from now on.
    pub(crate) fn show_by(&mut self, view: View) {
        self.view = Some(view);
    }

    /// How far each node's clock was from ours at its last reading.
    pub(crate) fn clocks(&self) -> Vec<Option<ClockOffset>> {
        let clock = |place: &Arc<Place>| place.clock.try_lock().ok().and_then(|clock| *clock);
        self.places.iter().map(clock).collect()
    }

    /// Reads every node, all of them at once.
    pub(crate) fn read(&self) -> Vec<Reading> {
        let names = self.places.iter().map(|place| &place.name);
        if is_this_machine(names, self.common.password.is_some()) {
            return vec![this_machine(self.common.answer)];
        }
        let (answer, places) = (self.common.answer, self.places.clone());
        self.call_all(BOUND, self.last, move |index, session, progress| {
            let asked = now();
            let raw = session.collect(answer, progress)?;
            if let Ok(mut clock) = places[index].clock.lock() {
                let shown = milliseconds(&raw.meta.captured);
                *clock = shown.map(|shown| ClockOffset::between(asked, now(), shown));
            }
            Ok(raw)
        })
    }

    /// Asks every node the same, `bound` of them at once, and gives each up after `last`.
    pub(crate) fn call_all<T: Send + 'static>(
        &self,
        bound: usize,
        last: Duration,
        work: impl NodeWork<T>,
    ) -> Vec<(String, Result<T, String>)> {
        self.call_by(work, |places, work| fan_out(places, bound, last, work))
    }

    /// As [`Fleet::call_all`], for calls in which nodes wait for each other: all of them at once.
    pub(crate) fn call_together<T: Send + 'static>(
        &self,
        last: Duration,
        work: impl NodeWork<T>,
    ) -> Vec<(String, Result<T, String>)> {
        self.call_by(work, |places, work| fan_out_together(places, last, work))
    }

    fn call_by<T: Send + 'static>(
        &self,
        work: impl NodeWork<T>,
        fan_out: impl FnOnce(Vec<Arc<Place>>, Visit<T>) -> Vec<Result<Result<T, String>, Unfinished>>,
    ) -> Vec<(String, Result<T, String>)> {
        let names: Vec<String> = self.places.iter().map(|place| place.name.clone()).collect();
        let progress = self.progress(&names);
        let (shared, drawn) = (Arc::clone(&self.common), Arc::clone(&progress));
        let visit = move |index: usize, place: &Arc<Place>| {
            let stage = |stage| drawn.stage(index, stage);
            let asked = |session: &dyn Session| work(index, session, &stage);
            let result = ask(place, &shared, &stage, asked);
            drawn.done(index);
            result
        };
        let results = fan_out(self.places.clone(), Box::new(visit));
        progress.stop();
        crosstie_reach::end_if_interrupted();
        let answers = results.into_iter().map(|result| match result {
            Ok(answer) => answer,
            Err(unfinished) => Err(unfinished.to_string()),
        });
        names.into_iter().zip(answers).collect()
    }

    /// Each node by itself, for work that keeps sessions in its own hands.
    pub(crate) fn doors(&self) -> Vec<Arc<dyn Door>> {
        let door = |place: &Arc<Place>| Arc::new(Entrance::new(place, &self.common));
        let doors = self.places.iter().map(door);
        doors.map(|door| door as Arc<dyn Door>).collect()
    }

    /// Where each node is shown while it is worked on.
    pub(crate) fn progress(&self, nodes: &[String]) -> Arc<Progress> {
        let view = self.view.clone();
        Arc::new(Progress::start(
            nodes,
            self.common.prompts,
            self.draws,
            view,
        ))
    }

    pub(crate) fn names(&self) -> Vec<&str> {
        let places = self.places.iter();
        places.map(|place| place.name.as_str()).collect()
    }

    /// For one question that takes so long, and whatever goes before it.
    pub(crate) fn patience(&self, question: Duration) -> Duration {
        self.last + question
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

fn this_machine(deadline: Duration) -> Reading {
    let session = InProcess::default();
    let raw = session.collect(deadline, &|_| ());
    (
        session.name().to_owned(),
        raw.map_err(|error| error.to_string()),
    )
}

fn ask<T>(
    place: &Place,
    common: &Common,
    progress: &dyn Fn(Stage),
    work: impl FnOnce(&dyn Session) -> anyhow::Result<T>,
) -> Result<T, String> {
    let started = Instant::now();
    let Ok(mut slot) = place.session.try_lock() else {
        return Err("it has not answered an earlier call yet".to_owned());
    };
    // Out of its place while in use: a session that failed is not used again.
    let session = if let Some(session) = slot.take() {
        session
    } else {
        common.open(&place.route, common.login, progress)?
    };
    let answer = work(session.as_ref());
    tracing::info!(node = %place.name, seconds = started.elapsed().as_secs_f64(), "asked");
    if answer.is_ok() {
        *slot = Some(session);
    }
    answer.map_err(told)
}

/// With all its causes.
fn told(error: impl Into<anyhow::Error>) -> String {
    format!("{:#}", error.into())
}

/// Milliseconds since the epoch.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    })
}

fn route(name: &str, reach: &Reach, prompts: bool) -> anyhow::Result<Route> {
    if name == "." {
        return Ok(Route::Here);
    }
    let limit = Duration::from_secs(reach.ways.timeout.into());
    Ok(Route::Ssh {
        destination: name.parse()?,
        options: SshOptions {
            config: reach.ways.ssh_config.clone(),
            prompts,
            // Before we give up ourselves, so that ssh can say why.
            connect: limit.mul_f64(0.75).min(CONNECT),
            alone: false,
            pin: None,
            login: Login::Configured,
        },
    })
}

/// Several at once would ask over each other.
fn may_prompt(names: &[String]) -> bool {
    let remote = names.iter().filter(|name| *name != ".").count();
    remote == 1 && io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// The password for root, where root is wanted: asked for now, or once a node wants it.
fn password(reach: &Reach) -> anyhow::Result<Option<Password>> {
    if !reach.sudo {
        return Ok(None);
    }
    let source = match (reach.become_password_fd, &reach.known_password) {
        (Some(descriptor), _) => Source::Descriptor(descriptor),
        (None, Some(known)) if !reach.ask_become_pass => {
            return Ok(Some(Password::known(Arc::clone(known), Purpose::Sudo)));
        }
        _ if reach.ask_become_pass || io::stderr().is_terminal() => Source::Terminal,
        _ => Source::Nobody,
    };
    let password = Password::new(source, Purpose::Sudo);
    if reach.ask_become_pass {
        password.get()?;
    }
    Ok(Some(password))
}
