//! Keys are made and exchanged.

use std::{collections::BTreeSet, sync::Arc};

use crosstie_model::word;
use crosstie_node::{
    scratch_folder::ScratchFolder,
    trust::{TrustRequest, WantedTrust},
};
use crosstie_report::{
    suggested_command::CommandVerb,
    text::with_remark,
    trust::{TrustOutcome, TrustReport},
};
use crosstie_trust::{
    AuthorizedKey, KeyOwner, MachineName, PeerClaims, TrustParty, TrustedNode, peers_of,
};

use super::{
    Controller, TrustError, TrustNode, TrustOptions, host_keys,
    host_keys::{ApprovedNode, PinnedRoute},
    login::LoginOptions,
    node::add,
    nodes,
    visits::{PreparedTrustNode, TrustVisit, exchange, prepare, settle_all},
};
use crate::{FleetRound, Prompter};

pub(super) fn run(
    options: &TrustOptions,
    controller: &Controller,
    scratch: &ScratchFolder,
    prompter: &dyn Prompter,
) -> Result<TrustReport, TrustError> {
    let nodes = nodes(&options.nodes, options, controller)?;
    let before = controller.look()?;
    let approved = host_keys::approve(&nodes, &before.reached, options, scratch, prompter)?;
    let mut outcomes: Vec<TrustOutcome> = approved.iter().map(outcome).collect();
    let work = open(&nodes, &approved, options.dry_run, controller);
    let mut here = Vec::new();
    let mut key = before.key.clone();
    if !options.dry_run && !work.is_empty() {
        let reached = work.iter().map(|open| reached(open, &work)).collect();
        let settled = controller.ask(&TrustRequest::Settle(WantedTrust {
            reached,
            ..controller.nothing(false)
        }))?;
        key.clone_from(&settled.key);
        here = settled.changed;
    }
    let labels: Vec<String> = nodes.iter().map(|node| node.label.clone()).collect();
    let round = FleetRound::begin(&options.fleet.observer, &labels, false);
    let identity = controller.home.identity();
    let known = before.key.is_some();
    let run = &controller.run;
    let logins = LoginOptions::new(options, identity, known, run, Arc::clone(&round));
    let logins = Arc::new(logins.map_err(TrustError::Program)?);
    let own = AuthorizedKey {
        owner: controller.owner(),
        key,
    };
    if options.dry_run {
        dry_run_nodes(work.clone(), &own, &logins, &mut outcomes);
        round.end();
        let here = dry_run_here(controller, &work)?;
        return Ok(report(options, &nodes, &outcomes, &here));
    }
    let prepared = prepare(&work, &own, &logins, &mut outcomes);
    let parties: Vec<TrustParty> = prepared
        .iter()
        .map(|(_, prepared)| prepared.party.clone())
        .collect();
    exchange(&prepared, &parties, &logins, &mut outcomes);
    round.end();
    crosstie_reach::end_if_interrupted();
    let untouched = untouched(&before.reached, &work, &logins);
    let finished = finish(controller, untouched, &prepared, &parties);
    logins.end_leases();
    let mut finished = finished?;
    let here = here.iter().map(ToString::to_string);
    finished.changed.splice(0..0, here);
    let mut report = report(options, &nodes, &outcomes, &finished);
    report
        .hints
        .extend(half_done(options, &work, &outcomes, &logins));
    Ok(report)
}

fn outcome(approved: &Result<ApprovedNode, host_keys::RefusedNode>) -> TrustOutcome {
    match approved {
        Ok(approved) => TrustOutcome {
            host_key: Some(approved.key.clone()),
            ..TrustOutcome::default()
        },
        Err(refused) => TrustOutcome {
            host_key: refused.key.clone(),
            error: Some(refused.why.clone()),
            is_declined: refused.is_no,
            ..TrustOutcome::default()
        },
    }
}

fn open(
    nodes: &[TrustNode],
    approved: &[Result<ApprovedNode, host_keys::RefusedNode>],
    dry_run: bool,
    controller: &Controller,
) -> Vec<TrustVisit> {
    let open = nodes.iter().zip(approved).enumerate();
    open.filter_map(|(index, (node, approved))| {
        Some(TrustVisit {
            index,
            node: node.clone(),
            approved: approved.as_ref().ok()?.clone(),
            wanted: WantedTrust {
                own: node.name.clone(),
                ..controller.nothing(dry_run)
            },
        })
    })
    .collect()
}

fn reached(open: &TrustVisit, all: &[TrustVisit]) -> TrustedNode {
    let others = all.iter().map(|other| other.node.name.clone());
    let peers: BTreeSet<MachineName> = others.filter(|name| *name != open.node.name).collect();
    TrustedNode {
        name: open.node.name.clone(),
        destination: open.node.label.clone(),
        host_key: open.approved.key.clone(),
        peers,
    }
}

/// Each says what it would do, of keys that are still to be made.
fn dry_run_nodes(
    mut work: Vec<TrustVisit>,
    own: &AuthorizedKey,
    logins: &Arc<LoginOptions>,
    outcomes: &mut [TrustOutcome],
) {
    let all = work.clone();
    for open in &mut work {
        let is_here = open.approved.route.is_none();
        open.wanted
            .authorize
            .extend((!is_here).then(|| own.clone()));
        for other in all.iter().filter(|other| other.index != open.index) {
            open.wanted.peers.push(foreseen(other));
            if let Some(owner) = owner(other).filter(|owner| *owner != own.owner) {
                open.wanted
                    .authorize
                    .push(AuthorizedKey { owner, key: None });
            }
        }
    }
    let password = logins.password();
    settle_all(work, logins, outcomes, move |open, logins| {
        let route = open.approved.route.as_ref();
        logins.log_in_by_any_means(open.index, &open.node, route, &password)
    });
}

fn dry_run_here(controller: &Controller, work: &[TrustVisit]) -> Result<TrustOutcome, TrustError> {
    let mut outcome = TrustOutcome::default();
    if work.is_empty() {
        return Ok(outcome);
    }
    let peers = work.iter().filter(|open| open.approved.route.is_some());
    let settled = controller.ask(&TrustRequest::Settle(WantedTrust {
        peers: peers.map(foreseen).collect(),
        ..controller.nothing(true)
    }))?;
    let changed = settled.changed.iter().map(ToString::to_string);
    outcome.changed.extend(changed);
    Ok(outcome)
}

fn owner(open: &TrustVisit) -> Option<KeyOwner> {
    let user = open.approved.route.as_ref()?.resolved.user.parse().ok()?;
    let name = open.node.name.clone();
    Some(KeyOwner { user, name })
}

fn foreseen(open: &TrustVisit) -> PeerClaims {
    PeerClaims {
        name: open.node.name.clone(),
        name_seen: false,
        host_names: Vec::new(),
        addresses: Vec::new(),
        user: None,
        port: None,
        host_key: open.approved.key.clone(),
    }
}

/// New nodes that nobody told to change anything, so that there is nothing to undo.
pub(super) fn untouched(
    known: &[TrustedNode],
    work: &[TrustVisit],
    logins: &LoginOptions,
) -> Vec<MachineName> {
    let work = work.iter();
    work.filter(|open| !logins.was_told_to_change(open.index))
        .map(|open| open.node.name.clone())
        .filter(|name| known.iter().all(|known| known.name != *name))
        .collect()
}

/// Nodes that failed once they were told to change something.
pub(super) fn half_done(
    options: &TrustOptions,
    work: &[TrustVisit],
    outcomes: &[TrustOutcome],
    logins: &LoginOptions,
) -> Option<String> {
    let work = work.iter();
    let failed = work.filter(|open| {
        outcomes[open.index].error.is_some() && logins.was_told_to_change(open.index)
    });
    let failed: Vec<&str> = failed.map(|open| open.node.label.as_str()).collect();
    if failed.is_empty() {
        return None;
    }
    let trust = options.fleet.offer.command(CommandVerb::Trust);
    let undo = options
        .fleet
        .offer
        .for_nodes(failed.iter().copied())
        .command(CommandVerb::Trust)
        .flag("undo", true)
        .to_string();
    Some(format!(
        "{} may have been changed in part:\n  {}\n  {}",
        failed.join(", "),
        with_remark(trust, "finishes it"),
        with_remark(undo, "undoes it")
    ))
}

/// This machine learns of the nodes that were changed, and forgets those that were not.
fn finish(
    controller: &Controller,
    untouched: Vec<MachineName>,
    prepared: &[(TrustVisit, PreparedTrustNode)],
    parties: &[TrustParty],
) -> Result<TrustOutcome, TrustError> {
    let mut outcome = TrustOutcome::default();
    let here = prepared
        .iter()
        .position(|(open, _)| open.approved.route.is_none());
    let told_here = here
        .map(|place| peers_of(place, parties))
        .unwrap_or_default();
    let peers: Vec<PeerClaims> = prepared
        .iter()
        .filter_map(|(open, prepared)| {
            let route = open.approved.route.as_ref()?;
            let told = told_here.iter().find(|peer| peer.name == open.node.name);
            Some(peer_here(open, route, prepared, told))
        })
        .collect();
    if !peers.is_empty() {
        let settled = controller.ask(&TrustRequest::Settle(WantedTrust {
            peers,
            ..controller.nothing(false)
        }))?;
        add(&mut outcome, settled);
    }
    if !untouched.is_empty() {
        let (only, dry_run) = (Some(untouched), false);
        let settled = controller.ask(&TrustRequest::Undo { only, dry_run })?;
        add(&mut outcome, settled);
    }
    Ok(outcome)
}

/// Its name leads where the user's configuration says, where its key was seen; its addresses, where this machine is a node
/// too, to itself.
fn peer_here(
    open: &TrustVisit,
    route: &PinnedRoute,
    prepared: &PreparedTrustNode,
    told: Option<&PeerClaims>,
) -> PeerClaims {
    let written = open
        .node
        .destination
        .as_ref()
        .map(crosstie_reach::ssh::SshDestination::written);
    let (user, port) = written.unwrap_or_default();
    let told = told.filter(|_| prepared.party.port == Some(route.resolved.port));
    PeerClaims {
        name: open.node.name.clone(),
        name_seen: true,
        host_names: told.map(|peer| peer.host_names.clone()).unwrap_or_default(),
        addresses: told.map(|peer| peer.addresses.clone()).unwrap_or_default(),
        user: if told.is_some() {
            Some(prepared.party.user.clone())
        } else {
            user.and_then(|user| user.parse().ok())
        },
        port: port.or(told.and_then(|peer| peer.port)),
        host_key: open.approved.key.clone(),
    }
}

fn report(
    options: &TrustOptions,
    nodes: &[TrustNode],
    outcomes: &[TrustOutcome],
    here: &TrustOutcome,
) -> TrustReport {
    let mut hints = Vec::new();
    let done = outcomes.iter().any(|outcome| outcome.error.is_none());
    if let Some(config) = options.fleet.ssh_config.as_ref().filter(|_| done) {
        hints.push(format!(
            "ssh -F {} does not read ~/.ssh/config: put this line at its top, for logins with the new keys:\n  \
             Include ~/.ssh/crosstie/config",
            word(&config.display().to_string())
        ));
    }
    if done && !options.dry_run {
        let offer = options.fleet.offer.for_nodes([]);
        let undo = offer.command(CommandVerb::Trust).flag("undo", true);
        hints.push(with_remark(undo, "undoes all of it"));
    }
    TrustReport {
        dry_run: options.dry_run,
        ..super::report(nodes, outcomes, here, hints)
    }
}
