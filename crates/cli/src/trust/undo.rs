//! It is taken back.

use std::sync::Arc;

use anyhow::{Context, bail};
use clap::ColorChoice;
use crosstie_agent::NodeCalls;
use crosstie_node::{
    scratch::Scratch,
    trust::{Ask, Settled},
};
use crosstie_reach::{BOUND, Session, fan_out, secret::Password};
use crosstie_trust::{Name, Reached};

use super::{
    Controller, Node, Outcome, Report, TrustArgs,
    host_keys::{self, Approved},
    login::{Asking, Logins, Trouble},
    nodes,
    show::{ControllerReport, NodeReport},
};
use crate::{output, progress::Progress};

#[derive(Clone)]
struct Visit {
    index: usize,
    node: Node,
    approved: Approved,
    ask: Ask,
}

pub(super) fn run(
    args: &TrustArgs,
    controller: &Controller,
    scratch: &Scratch,
    colour: ColorChoice,
) -> anyhow::Result<Report> {
    let before = controller.look()?;
    let (nodes, targets) = whom(args, controller, &before.reached)?;
    let approved = host_keys::approve(&nodes, &before.reached, args, scratch)?;
    let mut outcomes: Vec<Outcome> = Vec::new();
    let mut visits = Vec::new();
    for (index, (node, approved)) in nodes.iter().zip(approved).enumerate() {
        outcomes.push(match approved {
            Err((host_key, error)) => Outcome {
                host_key,
                ..Outcome::failed(error)
            },
            Ok(approved) => {
                let host_key = Some(approved.key.clone());
                let only = (!targets.contains(&node.name)).then(|| targets.clone());
                // This machine is restored at the end, when nothing needs it any more.
                if approved.way.is_some() {
                    visits.push(Visit {
                        index,
                        node: node.clone(),
                        approved,
                        ask: Ask::Undo {
                            only,
                            dry_run: args.dry_run,
                        },
                    });
                }
                Outcome {
                    host_key,
                    ..Outcome::default()
                }
            }
        });
    }
    let labels: Vec<String> = nodes.iter().map(|node| node.label.clone()).collect();
    let progress = Arc::new(Progress::start(&labels, false, output::draws(colour), None));
    let known = before.key.is_some();
    let logins = Logins::new(
        args,
        Asking::Person,
        controller.home.identity(),
        known,
        Arc::clone(&progress),
    );
    let logins = Arc::new(logins.context("cannot find this program")?);
    // Whoever is behind a jump host goes first: that may be one of the others.
    let (behind, direct) = visits.into_iter().partition(is_behind);
    for visits in [behind, direct] {
        go(visits, &logins, &mut outcomes);
    }
    progress.stop();
    crosstie_reach::end_if_interrupted();
    let gone: Vec<Name> = nodes
        .iter()
        .zip(&outcomes)
        .filter(|(node, outcome)| {
            targets.contains(&node.name) && (outcome.error.is_none() || args.forget)
        })
        .map(|(node, _)| node.name.clone())
        .collect();
    let here = controller.ask(&Ask::Undo {
        only: Some(gone),
        dry_run: args.dry_run,
    })?;
    let mut done_here = Outcome::default();
    done_here.add(here);
    Ok(Report {
        dry_run: args.dry_run,
        undo: true,
        nodes: nodes
            .iter()
            .zip(&outcomes)
            .map(|(node, outcome)| NodeReport::new(node.label.clone(), outcome))
            .collect(),
        controller: ControllerReport::new(&done_here),
        hints: hints(args, &outcomes),
    })
}

/// Those that are taken back, and after them those that know of one.
fn whom(
    args: &TrustArgs,
    controller: &Controller,
    reached: &[Reached],
) -> anyhow::Result<(Vec<Node>, Vec<Name>)> {
    let all: Vec<String> = reached
        .iter()
        .map(|node| node.destination.clone())
        .collect();
    let named = if args.nodes.is_empty() {
        &all
    } else {
        &args.nodes
    };
    let mut found = nodes(named, args, controller)?;
    let targets: Vec<Name> = found.iter().map(|node| node.name.clone()).collect();
    let left: Vec<&Reached> = reached
        .iter()
        .filter(|node| !targets.contains(&node.name))
        .collect();
    if targets.contains(&controller.name) && !left.is_empty() {
        bail!(
            "this machine (.) is taken back with the last node: crosstie trust --undo takes back all"
        );
    }
    for node in left {
        if node.peers.iter().any(|peer| targets.contains(peer)) {
            found.push(Node::new(&node.destination, args, &controller.name)?);
        }
    }
    Ok((found, targets))
}

fn is_behind(visit: &Visit) -> bool {
    let way = visit.approved.way.as_ref();
    way.is_some_and(|way| way.resolved.jumps)
}

fn go(visits: Vec<Visit>, logins: &Arc<Logins>, outcomes: &mut [Outcome]) {
    let password = logins.password();
    let shared = Arc::clone(logins);
    let again = visits.clone();
    let results = fan_out(visits, BOUND, logins.last(), move |_, visit| {
        let settled = undo(visit, &shared, &password);
        shared.progress.done(visit.index);
        settled
    });
    crosstie_reach::end_if_interrupted();
    for (visit, result) in again.into_iter().zip(results) {
        let mut result =
            result.unwrap_or_else(|unfinished| Err(Trouble::Other(unfinished.to_string())));
        if matches!(result, Err(Trouble::WrongPassword))
            && let Some(password) = logins.another_password(&visit.node)
        {
            result = undo(&visit, logins, &password);
        }
        let outcome = &mut outcomes[visit.index];
        match result {
            Ok(settled) => outcome.add(settled),
            Err(trouble) => outcome.error = Some(trouble.to_string()),
        }
    }
}

fn undo(visit: &Visit, logins: &Logins, password: &Arc<Password>) -> Result<Settled, Trouble> {
    let way = visit.approved.way.as_ref();
    let session: Box<dyn Session> = logins.by_any(visit.index, &visit.node, way, password)?;
    let progress = |stage| logins.progress.stage(visit.index, stage);
    session
        .trust(&visit.ask, logins.answer, &progress)
        .map_err(Trouble::other)
}

fn hints(args: &TrustArgs, outcomes: &[Outcome]) -> Vec<String> {
    let failed = outcomes.iter().any(|outcome| outcome.error.is_some());
    if failed && !args.forget {
        return vec![
            "Nodes that failed are still known here: try again, or give up on them with --undo --forget".to_owned(),
        ];
    }
    Vec::new()
}
