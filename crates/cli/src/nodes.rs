//! The nodes of a command line, and what is read of them.

use std::{
    io::{self, IsTerminal},
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::Context;
use clap::ColorChoice;
use crosstie_facts::Raw;
use crosstie_node::groups::signal_all;
use crosstie_reach::{
    BOUND, InProcess, Route, Session, Wanted,
    binary::Binaries,
    fan_out, open,
    secret::{Password, Purpose, Source},
    ssh::{Login, SshOptions},
};
use rustix::process::Signal;

use crate::{args::Reach, output, progress::Progress, scan::Reading};

/// A machine with many cards and a slow driver stays far below; a hung driver is told apart from a slow one.
pub(crate) const COLLECT: Duration = Duration::from_secs(20);

/// For ssh to get a first word from a node.
pub(crate) const CONNECT: Duration = Duration::from_secs(10);

/// For a person to type a password.
pub(crate) const PERSON: Duration = Duration::from_secs(120);

/// What all nodes have in common.
struct Common {
    binaries: Binaries,
    password: Option<Password>,
    /// Up to the agent's first word.
    login: Duration,
    answer: Duration,
    progress: Progress,
}

/// Reads every node, all of them at once.
pub(crate) fn collect(
    names: &[String],
    ssh_config: Option<&Path>,
    reach: &Reach,
    colour: ColorChoice,
) -> anyhow::Result<Vec<Reading>> {
    let here = [".".to_owned()];
    let names = if names.is_empty() { &here } else { names };
    let limit = Duration::from_secs(reach.ways.timeout.into());
    if names == here && !reach.sudo {
        return Ok(vec![this_machine(limit.min(COLLECT))]);
    }
    crosstie_reach::end_children_on_signals().context("cannot watch for Ctrl-C")?;
    let prompts = may_prompt(names);
    let routes = names
        .iter()
        .map(|name| route(name, ssh_config, reach, prompts))
        .collect::<anyhow::Result<Vec<Route>>>()?;
    let common = Arc::new(Common {
        binaries: Binaries::new(reach.ways.agent_dir.clone()),
        password: reach
            .sudo
            .then(|| Password::new(password_source(reach), Purpose::Sudo)),
        login: if prompts { limit.max(PERSON) } else { limit },
        answer: limit.min(COLLECT),
        progress: Progress::start(names, prompts, output::draws(colour)),
    });
    // Each step has its own limit; this one is for what none of them foresees.
    let last = common.login + common.answer + PERSON;
    let shared = Arc::clone(&common);
    let results = fan_out(routes, BOUND, last, move |index, route| {
        let result = read(index, route, &shared);
        shared.progress.done(index);
        result
    });
    common.progress.stop();
    crosstie_reach::end_if_interrupted();
    // Of nodes that were given up.
    signal_all(Signal::TERM);
    let read = results.into_iter().map(|result| match result {
        Ok(raw) => raw,
        Err(unfinished) => Err(unfinished.to_string()),
    });
    Ok(names.iter().cloned().zip(read).collect())
}

/// It takes milliseconds: threads, progress and signal handlers would take as long again.
fn this_machine(deadline: Duration) -> Reading {
    let mut session = InProcess::default();
    let raw = session.collect(deadline, &|_| ());
    (
        session.name().to_owned(),
        raw.map_err(|error| error.to_string()),
    )
}

fn read(index: usize, route: &Route, common: &Common) -> Result<Raw, String> {
    let started = Instant::now();
    let progress = |stage| common.progress.stage(index, stage);
    let wanted = Wanted {
        binaries: &common.binaries,
        root: common.password.as_ref(),
        deadline: common.login,
        progress: &progress,
    };
    let text = |error: anyhow::Error| format!("{error:#}");
    let mut session = open(route, &wanted).map_err(|error| text(error.into()))?;
    let raw = session.collect(common.answer, &progress);
    tracing::info!(node = %route.name(), seconds = started.elapsed().as_secs_f64(), "read");
    raw.map_err(|error| text(error.into()))
}

fn route(
    name: &str,
    ssh_config: Option<&Path>,
    reach: &Reach,
    prompts: bool,
) -> anyhow::Result<Route> {
    if name == "." {
        return Ok(Route::Here);
    }
    let limit = Duration::from_secs(reach.ways.timeout.into());
    Ok(Route::Ssh {
        destination: name.parse()?,
        options: SshOptions {
            config: ssh_config.map(Path::to_owned),
            prompts,
            // Before we give up ourselves, so that ssh can say why.
            connect: limit.mul_f64(0.75).min(CONNECT),
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

fn password_source(reach: &Reach) -> Source {
    match reach.become_password_fd {
        Some(descriptor) => Source::Descriptor(descriptor),
        None if io::stderr().is_terminal() => Source::Terminal,
        None => Source::Nobody,
    }
}
