//! The visits to the nodes: each makes its key, then each is told of the others.

use std::{sync::Arc, time::Duration};

use crosstie_agent::NodeCalls;
use crosstie_node::trust::{
    ALIAS_CHECK_TIMEOUT, TrustChange, TrustReply, TrustRequest, WantedTrust,
};
use crosstie_reach::{BOUND, Session, fan_out, secret::SharedPassword};
use crosstie_trust::{AuthorizedKey, KeyOwner, PublicKey, TrustParty, addresses, peers_of};

use super::{
    TrustNode, TrustOutcome,
    host_keys::ApprovedNode,
    login::{LoginOptions, TrustVisitError},
    node::add,
};
use crate::FleetSnapshot;

/// A node that is worked on, by its place in the command line.
#[derive(Clone)]
pub(super) struct TrustVisit {
    pub(super) index: usize,
    pub(super) node: TrustNode,
    pub(super) approved: ApprovedNode,
    pub(super) wanted: WantedTrust,
}

/// What a node said of itself once it had a key.
pub(super) struct PreparedTrustNode {
    pub(super) party: TrustParty,
    pub(super) key: PublicKey,
    pub(super) changed: Vec<TrustChange>,
}

fn settle(
    session: &dyn Session,
    open: &TrustVisit,
    logins: &LoginOptions,
) -> Result<TrustReply, TrustVisitError> {
    let progress = |stage| logins.round.stage(open.index, stage);
    if !open.wanted.dry_run {
        logins.note_told_to_change(open.index);
    }
    let ask = TrustRequest::Settle(open.wanted.clone());
    let looking = if open.wanted.peers.is_empty() {
        Duration::ZERO
    } else {
        ALIAS_CHECK_TIMEOUT
    };
    Ok(session.trust(&ask, logins.answer + looking, &progress)?)
}

/// The first visit, by whatever way there is: the node makes its key and lets ours in.
pub(super) fn prepare(
    work: &[TrustVisit],
    own: &AuthorizedKey,
    logins: &Arc<LoginOptions>,
    outcomes: &mut [TrustOutcome],
) -> Vec<(TrustVisit, PreparedTrustNode)> {
    let mut work = work.to_vec();
    for open in work.iter_mut().filter(|open| open.approved.route.is_some()) {
        open.wanted.authorize.push(own.clone());
    }
    let password = logins.password();
    let shared = Arc::clone(logins);
    let results = fan_out(work.clone(), BOUND, logins.last(), move |_, open| {
        visit(open, &shared, &password)
    });
    crosstie_reach::end_if_interrupted();
    let mut prepared = Vec::new();
    for (open, result) in work.into_iter().zip(results) {
        let mut result = result.unwrap_or_else(|unfinished| Err(unfinished.into()));
        if matches!(result, Err(TrustVisitError::WrongPassword))
            && let Some(password) = logins.another_password(&open.node)
        {
            result = visit(&open, logins, &password);
        }
        match result {
            Ok(visited) => {
                let changed = visited.changed.iter().map(ToString::to_string);
                outcomes[open.index].changed = changed.collect();
                prepared.push((open, visited));
            }
            Err(error) => {
                logins.round.done(open.index);
                outcomes[open.index].error = Some(error.to_string());
            }
        }
    }
    prepared
}

fn visit(
    open: &TrustVisit,
    logins: &LoginOptions,
    password: &Arc<SharedPassword>,
) -> Result<PreparedTrustNode, TrustVisitError> {
    let route = open.approved.route.as_ref();
    let session = logins.log_in_by_any_means(open.index, &open.node, route, password)?;
    logins.lease(open.index, session.as_ref())?;
    let prepared = prepare_over(session.as_ref(), open, logins)?;
    logins.keep(session);
    Ok(prepared)
}

/// What can fail without a trace comes first.
pub(super) fn prepare_over(
    session: &dyn Session,
    open: &TrustVisit,
    logins: &LoginOptions,
) -> Result<PreparedTrustNode, TrustVisitError> {
    let progress = |stage| logins.round.stage(open.index, stage);
    let facts = FleetSnapshot::facts_over(session, logins.answer, &progress)?;
    let settled = settle(session, open, logins)?;
    let key = settled.key.ok_or(TrustVisitError::NoKey)?;
    Ok(PreparedTrustNode {
        party: TrustParty {
            name: open.node.name.clone(),
            host: facts.host.name.parse().ok(),
            user: settled.user,
            port: settled.port,
            addresses: addresses(&facts),
            host_key: open.approved.key.clone(),
        },
        key,
        changed: settled.changed,
    })
}

/// The second visit, with nothing but our key: each is told of the others.
pub(super) fn exchange(
    prepared: &[(TrustVisit, PreparedTrustNode)],
    parties: &[TrustParty],
    logins: &Arc<LoginOptions>,
    outcomes: &mut [TrustOutcome],
) {
    let work: Vec<TrustVisit> = prepared
        .iter()
        .enumerate()
        .map(|(place, (open, _))| told(place, open, prepared, parties))
        .collect();
    let login = |open: &TrustVisit, logins: &LoginOptions| {
        let session = logins.by_key(open.index, &open.node, open.approved.route.as_ref())?;
        // The first session has it, unless that was lost meanwhile.
        logins.lease(open.index, session.as_ref())?;
        Ok(session)
    };
    settle_all(work, logins, outcomes, login);
}

/// Settles every node, many of them at once, over the session that `login` opens.
pub(super) fn settle_all(
    work: Vec<TrustVisit>,
    logins: &Arc<LoginOptions>,
    outcomes: &mut [TrustOutcome],
    login: impl Fn(&TrustVisit, &LoginOptions) -> Result<Box<dyn Session>, TrustVisitError>
    + Send
    + Sync
    + 'static,
) {
    let places: Vec<usize> = work.iter().map(|open| open.index).collect();
    let shared = Arc::clone(logins);
    let results = fan_out(work, BOUND, logins.last(), move |_, open| {
        let session = login(open, &shared);
        let settled = session.and_then(|session| settle(session.as_ref(), open, &shared));
        shared.round.done(open.index);
        settled
    });
    for (index, result) in places.into_iter().zip(results) {
        match result {
            Ok(Ok(settled)) => add(&mut outcomes[index], settled),
            Ok(Err(error)) => outcomes[index].error = Some(error.to_string()),
            Err(unfinished) => outcomes[index].error = Some(unfinished.to_string()),
        }
    }
}

fn told(
    place: usize,
    open: &TrustVisit,
    prepared: &[(TrustVisit, PreparedTrustNode)],
    parties: &[TrustParty],
) -> TrustVisit {
    let others = prepared
        .iter()
        .filter(|(other, _)| other.index != open.index);
    let authorize = others.map(|(_, other)| AuthorizedKey {
        owner: KeyOwner {
            user: other.party.user.clone(),
            name: other.party.name.clone(),
        },
        key: Some(other.key.clone()),
    });
    let mut open = open.clone();
    open.wanted.authorize = authorize.collect();
    // This machine's own view of the nodes is written last, with the ways that the user's configuration knows.
    if open.approved.route.is_some() {
        open.wanted.peers = peers_of(place, parties);
    }
    open
}
