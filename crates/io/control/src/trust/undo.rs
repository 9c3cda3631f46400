//! Trust is undone.

use std::sync::Arc;

use crosstie_agent::NodeCalls;
use crosstie_node::{scratch_folder::ScratchFolder, trust::TrustRequest};
use crosstie_reach::{BOUND, Session, fan_out, secret::SharedPassword};
use crosstie_report::{
    suggested_command::CommandVerb,
    trust::{TrustOutcome, TrustReport},
};
use crosstie_trust::{MachineName, TrustedNode};

use super::{
    Controller, TrustError, TrustNode, TrustOptions,
    host_keys::{self, ApprovedNode},
    login::{LoginOptions, TrustVisitError},
    node::add,
    nodes, report,
};
use crate::{FleetRound, Prompter};

#[derive(Clone)]
struct UndoVisit {
    index: usize,
    node: TrustNode,
    approved: ApprovedNode,
    ask: TrustRequest,
}

pub(super) fn run(
    options: &TrustOptions,
    controller: &Controller,
    scratch: &ScratchFolder,
    prompter: &dyn Prompter,
) -> Result<TrustReport, TrustError> {
    let before = controller.look()?;
    let (nodes, targets) = nodes_to_undo(options, controller, &before.reached)?;
    let approved = host_keys::approve(&nodes, &before.reached, options, scratch, prompter)?;
    let mut outcomes: Vec<TrustOutcome> = Vec::new();
    let mut visits = Vec::new();
    for (index, (node, approved)) in nodes.iter().zip(approved).enumerate() {
        outcomes.push(match approved {
            Err(refused) => TrustOutcome {
                host_key: refused.key,
                error: Some(refused.why),
                is_declined: refused.is_no,
                ..TrustOutcome::default()
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
                        ask: TrustRequest::Undo {
                            only,
                            dry_run: options.dry_run,
                        },
                    });
                }
                TrustOutcome {
                    host_key,
                    ..TrustOutcome::default()
                }
            }
        });
    }
    let labels: Vec<String> = nodes.iter().map(|node| node.label.clone()).collect();
    let round = FleetRound::begin(&options.fleet.observer, &labels, false);
    let identity = controller.home.identity();
    let known = before.key.is_some();
    let run = &controller.run;
    let logins = LoginOptions::new(options, identity, known, run, Arc::clone(&round));
    let logins = Arc::new(logins.map_err(TrustError::Program)?);
    let opened = open(visits, options.dry_run, &logins, &mut outcomes);
    // Whoever is behind a jump host goes first: that may be one of the others.
    let (behind, direct) = opened
        .iter()
        .cloned()
        .partition(|opened| is_behind(&opened.0));
    for opened in [behind, direct] {
        undo_on_all(opened, &logins, &mut outcomes);
    }
    round.end();
    crosstie_reach::end_if_interrupted();
    let gone: Vec<MachineName> = nodes
        .iter()
        .zip(&outcomes)
        .filter(|(node, outcome)| {
            targets.contains(&node.name) && (outcome.error.is_none() || options.forget)
        })
        .map(|(node, _)| node.name.clone())
        .collect();
    let here = controller.ask(&TrustRequest::Undo {
        only: Some(gone),
        dry_run: options.dry_run,
    });
    for opened in &opened {
        logins.end_lease(opened.1.as_ref());
    }
    let here = here?;
    let mut done_here = TrustOutcome::default();
    add(&mut done_here, here);
    let hints = hints(options, &outcomes);
    Ok(TrustReport {
        dry_run: options.dry_run,
        undo: true,
        ..report(&nodes, &outcomes, &done_here, hints)
    })
}

/// Those on which it is undone, and after them those that know of one.
fn nodes_to_undo(
    options: &TrustOptions,
    controller: &Controller,
    reached: &[TrustedNode],
) -> Result<(Vec<TrustNode>, Vec<MachineName>), TrustError> {
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
    let targets: Vec<MachineName> = found.iter().map(|node| node.name.clone()).collect();
    let left: Vec<&TrustedNode> = reached
        .iter()
        .filter(|node| !targets.contains(&node.name))
        .collect();
    if targets.contains(&controller.name) && !left.is_empty() {
        let offer = options.fleet.offer.for_nodes([]);
        let undo = offer
            .command(CommandVerb::Trust)
            .flag("undo", true)
            .to_string();
        return Err(TrustError::HereFirst { undo });
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

type Opened = Arc<(UndoVisit, Box<dyn Session>)>;

/// All of them before the first is changed, so that nobody else changes one meanwhile.
fn open(
    visits: Vec<UndoVisit>,
    dry_run: bool,
    logins: &Arc<LoginOptions>,
    outcomes: &mut [TrustOutcome],
) -> Vec<Opened> {
    let login = move |visit: &UndoVisit, logins: &LoginOptions, password: &Arc<SharedPassword>| {
        let route = visit.approved.route.as_ref();
        let session = logins.log_in_by_any_means(visit.index, &visit.node, route, password)?;
        if !dry_run {
            logins.lease(visit.index, session.as_ref())?;
        }
        Ok(session)
    };
    let password = logins.password();
    let shared = Arc::clone(logins);
    let results = fan_out(visits.clone(), BOUND, logins.last(), move |_, visit| {
        login(visit, &shared, &password)
    });
    crosstie_reach::end_if_interrupted();
    let mut opened = Vec::new();
    for (visit, result) in visits.into_iter().zip(results) {
        let mut result: Result<Box<dyn Session>, TrustVisitError> =
            result.unwrap_or_else(|unfinished| Err(unfinished.into()));
        if matches!(result, Err(TrustVisitError::WrongPassword))
            && let Some(password) = logins.another_password(&visit.node)
        {
            result = login(&visit, logins, &password);
        }
        match result {
            Ok(session) => opened.push(Arc::new((visit, session))),
            Err(error) => {
                logins.round.done(visit.index);
                outcomes[visit.index].error = Some(error.to_string());
            }
        }
    }
    opened
}

fn undo_on_all(opened: Vec<Opened>, logins: &Arc<LoginOptions>, outcomes: &mut [TrustOutcome]) {
    let places: Vec<usize> = opened.iter().map(|opened| opened.0.index).collect();
    let shared = Arc::clone(logins);
    let results = fan_out(opened, BOUND, logins.last(), move |_, opened| {
        let (visit, session) = &**opened;
        let progress = |stage| shared.round.stage(visit.index, stage);
        let settled = session.trust(&visit.ask, shared.answer, &progress);
        shared.round.done(visit.index);
        settled.map_err(TrustVisitError::from)
    });
    crosstie_reach::end_if_interrupted();
    for (index, result) in places.into_iter().zip(results) {
        let outcome = &mut outcomes[index];
        match result.unwrap_or_else(|unfinished| Err(unfinished.into())) {
            Ok(settled) => add(outcome, settled),
            Err(error) => outcome.error = Some(error.to_string()),
        }
    }
}

fn hints(options: &TrustOptions, outcomes: &[TrustOutcome]) -> Vec<String> {
    let failed = outcomes.iter().any(|outcome| outcome.error.is_some());
    if failed && !options.forget {
        let offer = &options.fleet.offer;
        let forget = offer.command(CommandVerb::Trust).flag("undo", true);
        return vec![format!(
            "Nodes that failed are still known here: try again, or give up on them:\n  {}",
            forget.flag("forget", true)
        )];
    }
    Vec::new()
}
