//! Trust is undone.

use std::sync::Arc;

use crosstie_agent::NodeCalls;
use crosstie_node::{
    scratch::Scratch,
    trust::{Ask, Settled},
};
use crosstie_reach::{BOUND, Session, fan_out, secret::Password};
use crosstie_report::trust::{Outcome, Report};
use crosstie_trust::{Name, Reached};

use super::{
    Controller, TrustError, TrustNode, TrustOptions,
    host_keys::{self, Approved},
    login::{Logins, VisitError},
    node::add,
    nodes, report,
};
use crate::{Prompter, Round};

#[derive(Clone)]
struct UndoVisit {
    index: usize,
    node: TrustNode,
    approved: Approved,
    ask: Ask,
}

pub(super) fn run(
    options: &TrustOptions,
    controller: &Controller,
    scratch: &Scratch,
    prompter: &dyn Prompter,
) -> Result<Report, TrustError> {
    let before = controller.look()?;
    let (nodes, targets) = whom(options, controller, &before.reached)?;
    let approved = host_keys::approve(&nodes, &before.reached, options, scratch, prompter)?;
    let mut outcomes: Vec<Outcome> = Vec::new();
    let mut visits = Vec::new();
    for (index, (node, approved)) in nodes.iter().zip(approved).enumerate() {
        outcomes.push(match approved {
            Err((host_key, error)) => Outcome {
                host_key,
                error: Some(error),
                ..Outcome::default()
            },
            Ok(approved) => {
                let host_key = Some(approved.key.clone());
                let only = (!targets.contains(&node.name)).then(|| targets.clone());
                // This machine is restored at the end, when nothing needs it any more.
                if approved.route.is_some() {
                    visits.push(UndoVisit {
                        index,
                        node: node.clone(),
                        approved,
                        ask: Ask::Undo {
                            only,
                            dry_run: options.dry_run,
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
    let round = Round::begin(&options.fleet.observer, &labels, false);
    let identity = controller.home.identity();
    let logins = Logins::new(options, identity, before.key.is_some(), Arc::clone(&round));
    let logins = Arc::new(logins.map_err(TrustError::Program)?);
    // Whoever is behind a jump host goes first: that may be one of the others.
    let (behind, direct) = visits.into_iter().partition(is_behind);
    for visits in [behind, direct] {
        go(visits, &logins, &mut outcomes);
    }
    round.end();
    crosstie_reach::end_if_interrupted();
    let gone: Vec<Name> = nodes
        .iter()
        .zip(&outcomes)
        .filter(|(node, outcome)| {
            targets.contains(&node.name) && (outcome.error.is_none() || options.forget)
        })
        .map(|(node, _)| node.name.clone())
        .collect();
    let here = controller.ask(&Ask::Undo {
        only: Some(gone),
        dry_run: options.dry_run,
    })?;
    let mut done_here = Outcome::default();
    add(&mut done_here, here);
    let hints = hints(options, &outcomes);
    Ok(Report {
        dry_run: options.dry_run,
        undo: true,
        ..report(&nodes, &outcomes, &done_here, hints)
    })
}

/// Those on which it is undone, and after them those that know of one.
fn whom(
    options: &TrustOptions,
    controller: &Controller,
    reached: &[Reached],
) -> Result<(Vec<TrustNode>, Vec<Name>), TrustError> {
    let all: Vec<String> = reached
        .iter()
        .map(|node| node.destination.clone())
        .collect();
    let named = if options.nodes.is_empty() {
        &all
    } else {
        &options.nodes
    };
    let mut found = nodes(named, options, controller)?;
    let targets: Vec<Name> = found.iter().map(|node| node.name.clone()).collect();
    let left: Vec<&Reached> = reached
        .iter()
        .filter(|node| !targets.contains(&node.name))
        .collect();
    if targets.contains(&controller.name) && !left.is_empty() {
        return Err(TrustError::HereFirst);
    }
    for node in left {
        if node.peers.iter().any(|peer| targets.contains(peer)) {
            found.push(TrustNode::new(
                &node.destination,
                &options.fleet,
                &controller.name,
            )?);
        }
    }
    Ok((found, targets))
}

fn is_behind(visit: &UndoVisit) -> bool {
    let route = visit.approved.route.as_ref();
    route.is_some_and(|route| route.resolved.jumps)
}

fn go(visits: Vec<UndoVisit>, logins: &Arc<Logins>, outcomes: &mut [Outcome]) {
    let password = logins.password();
    let shared = Arc::clone(logins);
    let again = visits.clone();
    let results = fan_out(visits, BOUND, logins.last(), move |_, visit| {
        let settled = undo(visit, &shared, &password);
        shared.round.done(visit.index);
        settled
    });
    crosstie_reach::end_if_interrupted();
    for (visit, result) in again.into_iter().zip(results) {
        let mut result = result.unwrap_or_else(|unfinished| Err(unfinished.into()));
        if matches!(result, Err(VisitError::WrongPassword))
            && let Some(password) = logins.another_password(&visit.node)
        {
            result = undo(&visit, logins, &password);
        }
        let outcome = &mut outcomes[visit.index];
        match result {
            Ok(settled) => add(outcome, settled),
            Err(error) => outcome.error = Some(error.to_string()),
        }
    }
}

fn undo(
    visit: &UndoVisit,
    logins: &Logins,
    password: &Arc<Password>,
) -> Result<Settled, VisitError> {
    let route = visit.approved.route.as_ref();
    let session: Box<dyn Session> = logins.by_any(visit.index, &visit.node, route, password)?;
    let progress = |stage| logins.round.stage(visit.index, stage);
    Ok(session.trust(&visit.ask, logins.answer, &progress)?)
}

fn hints(options: &TrustOptions, outcomes: &[Outcome]) -> Vec<String> {
    let failed = outcomes.iter().any(|outcome| outcome.error.is_some());
    if failed && !options.forget {
        return vec![
            "Nodes that failed are still known here: try again, or give up on them with --undo --forget".to_owned(),
        ];
    }
    Vec::new()
}
