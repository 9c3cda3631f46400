//! Cabling: the node's part of a run in which every port says its name and listens for others.
//!
//! Links that are down are brought up for it. A journal on disk says so before the first of them is, and they are put
//! back in every case: at the end, when the work is stopped; and by the next run, when this process was killed.

mod error;
mod interface;
mod journal;
mod listen;
mod packet;

use std::{
    path::Path,
    time::{Duration, Instant},
};

use crosstie_fabric::cabling::{CablingReply, CablingRequest, PortReception};

pub use error::CablingError;

use crate::{StopFlag, netlink::link_client::LinkClient};
use journal::{LinkJournal, LinkJournalEntry, RaisedLinksGuard};

/// Where the journals are.
pub const STATE: &str = "/var/lib/crosstie/cabling";

/// However late it began.
const MIN_LISTEN_TIMEOUT: Duration = Duration::from_secs(2);

/// More than any machine has; and frames have 16 bits for it.
const MOST_INTERFACES: usize = 256;

/// How a run is followed, and how it ends.
pub struct ListenControl<'a> {
    /// Whoever wants it to be over at once.
    pub stop: &'a StopFlag,
    /// Enough was heard.
    pub end: &'a StopFlag,
    /// What the ports heard so far: when they begin, when it changes, and every second.
    pub on_hearing: &'a dyn Fn(&[PortReception]),
}

/// Speaks and listens on the interfaces, and restores the links.
pub fn run_cabling(
    probe: &CablingRequest,
    conduct: &ListenControl,
    state: &Path,
) -> Result<CablingReply, CablingError> {
    let called = Instant::now();
    if !rustix::process::geteuid().is_root() {
        return Err(CablingError::NotRoot { why: String::new() });
    }
    if probe.interfaces.len() > MOST_INTERFACES {
        return Err(CablingError::TooMany {
            found: probe.interfaces.len(),
        });
    }
    let mut links = LinkClient::open().map_err(|error| CablingError::Links {
        why: error.to_string(),
    })?;
    let _lock = journal::lock(state)?;
    let facts = crosstie_facts::facts(&crate::collect());
    let mut restored = Vec::new();
    let mut left = Vec::new();
    for leftover in journal::killed_run_journals(state)? {
        match leftover {
            Ok(leftover) => {
                let outcome = leftover.restore(&mut links, Some(&facts));
                restored.extend(outcome.done);
                left.extend(outcome.failed);
            }
            Err(why) => left.push(why),
        }
    }
    let mut ports = interface::ports(&facts, &mut links, &probe.interfaces);
    let raised = raise(probe, state, &mut links, &mut ports)?;
    let until =
        (called + Duration::from_millis(probe.listen_ms)).max(Instant::now() + MIN_LISTEN_TIMEOUT);
    listen::listen(probe, &mut links, &mut ports, until, conduct);
    if let Some(raised) = raised {
        left.extend(raised.restore(&mut links).failed);
    }
    let ports = ports.into_iter().map(|port| port.heard).collect();
    Ok(CablingReply {
        ports,
        restored,
        left,
    })
}

/// Brings up what is down and may be up; the journal is on disk before the first of them is.
fn raise(
    probe: &CablingRequest,
    state: &Path,
    links: &mut LinkClient,
    ports: &mut [interface::CablingInterface],
) -> Result<Option<RaisedLinksGuard>, CablingError> {
    let down = ports.iter().filter(|port| port.must_rise());
    let down: Vec<LinkJournalEntry> = down.map(LinkJournalEntry::of).collect();
    if down.is_empty() {
        return Ok(None);
    }
    let raised = RaisedLinksGuard::new(LinkJournal::write(state, probe.token, down)?);
    for port in ports.iter_mut().filter(|port| port.must_rise()) {
        match journal::raise(links, port) {
            Ok(()) => port.heard.raised = true,
            Err(why) => port.heard.problem = Some(why),
        }
    }
    Ok(Some(raised))
}
