//! Machines on the local links that may be nodes.

use std::time::Duration;

use crosstie_agent::{CallError, CollectError, InProcessSession};
use crosstie_discover::{CandidateAddress, DiscoveryMethod, NoSuchInterface, vendor};
use crosstie_facts::facts;
use crosstie_reach::discover::{DiscoveredHost, discover};
use crosstie_report::discover::{DiscoveredMachine, SearchedInterfaces};

use crate::COLLECT_TIMEOUT;

/// Machines answer at once, and multicast DNS within a second; a lost datagram is asked for again in the next.
const LISTEN_TIMEOUT: Duration = Duration::from_secs(2);

#[derive(Debug, thiserror::Error)]
pub enum DiscoveryError {
    #[error("cannot read this machine's interfaces")]
    Collect(#[source] CallError<CollectError>),
    #[error(transparent)]
    Interface(#[from] NoSuchInterface),
}

/// Who answers, and where it was looked: on these interfaces, or on all.
pub fn neighbours(
    interfaces: &[String],
    timeout: Duration,
) -> Result<(Vec<DiscoveredMachine>, SearchedInterfaces), DiscoveryError> {
    let raw = InProcessSession::default()
        .collect(COLLECT_TIMEOUT, &|_| ())
        .map_err(DiscoveryError::Collect)?;
    let discovery = discover(&facts(&raw), interfaces, LISTEN_TIMEOUT.min(timeout))?;
    let candidates = discovery.found.iter().map(candidate).collect();
    let looked = SearchedInterfaces {
        asked: discovery.asked,
        greeted: discovery.greeted,
        notes: discovery.notes,
    };
    Ok((candidates, looked))
}

fn candidate(found: &DiscoveredHost) -> DiscoveredMachine {
    let machine = &found.candidate;
    let addresses: Vec<String> = machine
        .places
        .iter()
        .map(CandidateAddress::to_string)
        .collect();
    let name = machine.names.first().map(ToString::to_string);
    DiscoveredMachine {
        host: name
            .or_else(|| addresses.first().cloned())
            .unwrap_or_default(),
        addresses,
        interfaces: machine.interfaces.iter().cloned().collect(),
        mac: machine.mac().map(ToString::to_string),
        vendor: machine.mac().and_then(vendor),
        ssh: found.banner.clone(),
        via: machine
            .via
            .iter()
            .copied()
            .map(DiscoveryMethod::word)
            .collect(),
        destination: found.destination.clone(),
    }
}
