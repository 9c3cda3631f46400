//! Machines on the local links that may be nodes.

use std::time::Duration;

use crosstie_agent::{CallError, CollectError, InProcess};
use crosstie_discover::{NoSuchInterface, Place, Via, vendor};
use crosstie_facts::facts;
use crosstie_reach::discover::{Found, discover};
use crosstie_report::discover::{Candidate, Looked};

use crate::COLLECT_TIMEOUT;

/// Machines answer at once, and multicast DNS within a second; a lost datagram is asked for again in the next.
const LISTEN_TIME: Duration = Duration::from_secs(2);

#[derive(Debug, thiserror::Error)]
pub enum NeighboursError {
    #[error("cannot read this machine's interfaces")]
    Collect(#[source] CallError<CollectError>),
    #[error(transparent)]
    Interface(#[from] NoSuchInterface),
}

/// Who answers, and where it was looked: on these interfaces, or on all.
pub fn neighbours(
    interfaces: &[String],
    timeout: Duration,
) -> Result<(Vec<Candidate>, Looked), NeighboursError> {
    let raw = InProcess::default()
        .collect(COLLECT_TIMEOUT, &|_| ())
        .map_err(NeighboursError::Collect)?;
    let discovery = discover(&facts(&raw), interfaces, LISTEN_TIME.min(timeout))?;
    let candidates = discovery.found.iter().map(candidate).collect();
    let looked = Looked {
        asked: discovery.asked,
        greeted: discovery.greeted,
        notes: discovery.notes,
    };
    Ok((candidates, looked))
}

fn candidate(found: &Found) -> Candidate {
    let machine = &found.candidate;
    let addresses: Vec<String> = machine.places.iter().map(Place::to_string).collect();
    let name = machine.names.first().map(ToString::to_string);
    Candidate {
        host: name
            .or_else(|| addresses.first().cloned())
            .unwrap_or_default(),
        addresses,
        interfaces: machine.interfaces.iter().cloned().collect(),
        mac: machine.mac().map(ToString::to_string),
        vendor: machine.mac().and_then(vendor),
        ssh: found.banner.clone(),
        via: machine.via.iter().copied().map(Via::word).collect(),
        destination: found.destination.clone(),
    }
}
