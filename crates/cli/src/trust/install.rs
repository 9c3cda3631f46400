//! Keys are made and exchanged.

use std::{collections::BTreeSet, sync::Arc};

use anyhow::Context;
use clap::ColorChoice;
use crosstie_model::word;
use crosstie_node::{
    scratch::Scratch,
    trust::{Ask, Change, Settle, Settled},
};
use crosstie_reach::{BOUND, fan_out};
use crosstie_trust::{Authorized, Name, Owner, Party, PeerClaims, Reached, peers_of};

use super::{
    Controller, Node, Outcome, Report, TrustArgs, host_keys,
    host_keys::{Approved, Way},
    login::{Asking, Logins},
    nodes,
    show::{ControllerReport, NodeReport},
    visits::{Open, Prepared, exchange, prepare, settle},
};
use crate::{output, progress::Progress};

pub(super) fn run(
    args: &TrustArgs,
    controller: &Controller,
    scratch: &Scratch,
    asking: Asking,
    colour: ColorChoice,
) -> anyhow::Result<Report> {
    let nodes = nodes(&args.nodes, args, controller)?;
    let before = controller.look()?;
    let approved = host_keys::approve(&nodes, &before.reached, args, scratch)?;
    let mut outcomes: Vec<Outcome> = approved.iter().map(outcome).collect();
    let work = open(&nodes, &approved, args.dry_run, controller);
    let mut here = Vec::new();
    let mut key = before.key.clone();
    if !args.dry_run && !work.is_empty() {
        let reached = work.iter().map(|open| reached(open, &work)).collect();
        let settled = controller.ask(&Ask::Settle(Settle {
            reached,
            ..controller.nothing(false)
        }))?;
        key.clone_from(&settled.key);
        here = settled.changed;
    }
    let labels: Vec<String> = nodes.iter().map(|node| node.label.clone()).collect();
    let draws = asking == Asking::Person && output::draws(colour);
    let progress = Arc::new(Progress::start(&labels, false, draws, None));
    let logins = Logins::new(
        args,
        asking,
        controller.home.identity(),
        before.key.is_some(),
        Arc::clone(&progress),
    );
    let logins = Arc::new(logins.context("cannot find this program")?);
    let own = Authorized {
        owner: controller.owner(),
        key,
    };
    if args.dry_run {
        rehearse(work.clone(), &own, &logins, &mut outcomes);
        progress.stop();
        let here = Outcome {
            changed: rehearse_here(controller, &work)?,
            ..Outcome::default()
        };
        return Ok(report(args, &nodes, &outcomes, &here));
    }
    let prepared = prepare(&work, &own, &logins, &mut outcomes);
    let parties: Vec<Party> = prepared
        .iter()
        .map(|(_, prepared)| prepared.party.clone())
        .collect();
    exchange(&prepared, &parties, &logins, &mut outcomes);
    progress.stop();
    crosstie_reach::end_if_interrupted();
    let mut finished = finish(controller, &before, &work, &prepared, &parties)?;
    finished.changed.splice(0..0, here);
    Ok(report(args, &nodes, &outcomes, &finished))
}

fn outcome(approved: &Result<Approved, host_keys::Refused>) -> Outcome {
    match approved {
        Ok(approved) => Outcome {
            host_key: Some(approved.key.clone()),
            ..Outcome::default()
        },
        Err((key, error)) => Outcome {
            host_key: key.clone(),
            ..Outcome::failed(error)
        },
    }
}

fn open(
    nodes: &[Node],
    approved: &[Result<Approved, host_keys::Refused>],
    dry_run: bool,
    controller: &Controller,
) -> Vec<Open> {
    let open = nodes.iter().zip(approved).enumerate();
    open.filter_map(|(index, (node, approved))| {
        Some(Open {
            index,
            node: node.clone(),
            approved: approved.as_ref().ok()?.clone(),
            wanted: Settle {
                own: node.name.clone(),
                ..controller.nothing(dry_run)
            },
        })
    })
    .collect()
}

fn reached(open: &Open, all: &[Open]) -> Reached {
    let others = all.iter().map(|other| other.node.name.clone());
    let peers: BTreeSet<Name> = others.filter(|name| *name != open.node.name).collect();
    Reached {
        name: open.node.name.clone(),
        destination: open.node.label.clone(),
        host_key: open.approved.key.clone(),
        peers,
    }
}

/// Each says what it would do, of keys that are still to be made.
fn rehearse(mut work: Vec<Open>, own: &Authorized, logins: &Arc<Logins>, outcomes: &mut [Outcome]) {
    let all = work.clone();
    for open in &mut work {
        let is_here = open.approved.way.is_none();
        open.wanted
            .authorize
            .extend((!is_here).then(|| own.clone()));
        for other in all.iter().filter(|other| other.index != open.index) {
            open.wanted.peers.push(foreseen(other));
            if let Some(owner) = owner(other).filter(|owner| *owner != own.owner) {
                open.wanted.authorize.push(Authorized { owner, key: None });
            }
        }
    }
    let password = logins.password();
    let places: Vec<usize> = work.iter().map(|open| open.index).collect();
    let shared = Arc::clone(logins);
    let results = fan_out(work, BOUND, logins.last(), move |_, open| {
        let way = open.approved.way.as_ref();
        let session = shared.by_any(open.index, &open.node, way, &password);
        let settled = session.and_then(|mut session| settle(session.as_mut(), open, &shared));
        shared.progress.done(open.index);
        settled
    });
    for (index, result) in places.into_iter().zip(results) {
        match result {
            Ok(Ok(settled)) => outcomes[index].add(settled),
            Ok(Err(trouble)) => outcomes[index].error = Some(trouble.to_string()),
            Err(unfinished) => outcomes[index].error = Some(unfinished.to_string()),
        }
    }
}

fn rehearse_here(controller: &Controller, work: &[Open]) -> anyhow::Result<Vec<Change>> {
    if work.is_empty() {
        return Ok(Vec::new());
    }
    let peers = work.iter().filter(|open| open.approved.way.is_some());
    let settled = controller.ask(&Ask::Settle(Settle {
        peers: peers.map(foreseen).collect(),
        ..controller.nothing(true)
    }))?;
    Ok(settled.changed)
}

fn owner(open: &Open) -> Option<Owner> {
    let user = open.approved.way.as_ref()?.resolved.user.parse().ok()?;
    let name = open.node.name.clone();
    Some(Owner { user, name })
}

fn foreseen(open: &Open) -> PeerClaims {
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

/// This machine learns of the nodes that were changed, and forgets those that were not.
fn finish(
    controller: &Controller,
    before: &Settled,
    work: &[Open],
    prepared: &[(Open, Prepared)],
    parties: &[Party],
) -> anyhow::Result<Outcome> {
    let mut outcome = Outcome::default();
    let here = prepared
        .iter()
        .position(|(open, _)| open.approved.way.is_none());
    let told_here = here
        .map(|place| peers_of(place, parties))
        .unwrap_or_default();
    let peers: Vec<PeerClaims> = prepared
        .iter()
        .filter_map(|(open, prepared)| {
            let way = open.approved.way.as_ref()?;
            let told = told_here.iter().find(|peer| peer.name == open.node.name);
            Some(peer_here(open, way, prepared, told))
        })
        .collect();
    if !peers.is_empty() {
        let settled = controller.ask(&Ask::Settle(Settle {
            peers,
            ..controller.nothing(false)
        }))?;
        outcome.add(settled);
    }
    let untouched: Vec<Name> = work
        .iter()
        .map(|open| open.node.name.clone())
        .filter(|name| parties.iter().all(|party| party.name != *name))
        .filter(|name| before.reached.iter().all(|known| known.name != *name))
        .collect();
    if !untouched.is_empty() {
        let (only, dry_run) = (Some(untouched), false);
        let settled = controller.ask(&Ask::Undo { only, dry_run })?;
        outcome.add(settled);
    }
    Ok(outcome)
}

/// Its name leads where the user's configuration says, where its key was seen; its addresses, where this machine is a node
/// too, to itself.
fn peer_here(open: &Open, way: &Way, prepared: &Prepared, told: Option<&PeerClaims>) -> PeerClaims {
    let written = open
        .node
        .destination
        .as_ref()
        .map(crosstie_reach::ssh::Destination::written);
    let (user, port) = written.unwrap_or_default();
    let told = told.filter(|_| prepared.party.port == Some(way.resolved.port));
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

fn report(args: &TrustArgs, nodes: &[Node], outcomes: &[Outcome], here: &Outcome) -> Report {
    let mut hints = Vec::new();
    let done = outcomes.iter().any(|outcome| outcome.error.is_none());
    if let Some(config) = args.ways.ssh_config.as_ref().filter(|_| done) {
        hints.push(format!(
            "ssh -F {} does not read ~/.ssh/config: put this line at its top, for logins with the new keys:\n  \
             Include ~/.ssh/crosstie/config",
            word(&config.display().to_string())
        ));
    }
    if done && !args.dry_run {
        hints.push("crosstie trust --undo    takes it all back".to_owned());
    }
    Report {
        dry_run: args.dry_run,
        undo: false,
        nodes: nodes
            .iter()
            .zip(outcomes)
            .map(|(node, outcome)| NodeReport::new(node.label.clone(), outcome))
            .collect(),
        controller: ControllerReport::new(here),
        hints,
    }
}
