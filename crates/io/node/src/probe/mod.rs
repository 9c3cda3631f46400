//! What answers from here: the probes by which a change is confirmed.

mod echo;
mod greeting;
mod ping;
mod problem;

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use crosstie_model::change::{ProbeResult, ReachabilityProbe};

use crate::netlink::{self, NeighbourLookup};
use greeting::greeting;
use ping::PingProbe;
use problem::{NeighbourTableState, ProbeProblem};

/// What one probe takes at most, unless somebody knows better.
pub const PROBE_TIMEOUT: Duration = Duration::from_secs(2);

/// However much is asked for.
const MAX_PROBE_TIMEOUT: Duration = Duration::from_secs(60);

/// Probes under way at a time.
const MAX_CONCURRENT_PROBES: usize = 32;

/// Runs all probes, some at a time, each for `deadline` at most. The answers are in the order of the probes.
pub fn run_probes(probes: &[ReachabilityProbe], deadline: Duration) -> Vec<ProbeResult> {
    let deadline = deadline.min(MAX_PROBE_TIMEOUT);
    let next = AtomicUsize::new(0);
    let outcomes = Mutex::new(Vec::with_capacity(probes.len()));
    let work = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(probe) = probes.get(index) else {
                break;
            };
            let outcome = run(probe, deadline);
            let mut outcomes = outcomes.lock().unwrap_or_else(PoisonError::into_inner);
            outcomes.push((index, probe, outcome));
        }
    };
    thread::scope(|scope| {
        for _ in 1..probes.len().min(MAX_CONCURRENT_PROBES) {
            // Where there can be no more threads, those that there are do the work.
            let _ = thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    let mut outcomes = outcomes
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    outcomes.sort_by_key(|(index, ..)| *index);
    let neighbours = netlink::neighbours().unwrap_or_default();
    outcomes
        .into_iter()
        .map(|(_, probe, outcome)| probed(probe, outcome, &neighbours))
        .collect()
}

fn run(probe: &ReachabilityProbe, deadline: Duration) -> Result<(), ProbeProblem> {
    match probe {
        ReachabilityProbe::Ping {
            address,
            interface,
            bytes,
        } => PingProbe {
            address: *address,
            interface: interface.as_deref(),
            bytes: *bytes,
        }
        .run(deadline),
        ReachabilityProbe::Greeting { address } => greeting(*address, deadline),
    }
}

fn probed(
    probe: &ReachabilityProbe,
    outcome: Result<(), ProbeProblem>,
    neighbours: &[NeighbourLookup],
) -> ProbeResult {
    let entry = match probe {
        ReachabilityProbe::Ping {
            address, interface, ..
        } => neighbours.iter().find(|entry| {
            let there = interface
                .as_ref()
                .is_none_or(|name| *name == entry.interface);
            entry.address == *address && there
        }),
        ReachabilityProbe::Greeting { .. } => None,
    };
    let problem = outcome.err().map(|problem| match (problem, entry) {
        (ProbeProblem::Silent { .. }, Some(entry)) => ProbeProblem::Silent {
            sought: match &entry.mac {
                Some(mac) => NeighbourTableState::At(mac.clone()),
                None => NeighbourTableState::InVain,
            },
        },
        (problem, _) => problem,
    });
    ProbeResult {
        probe: probe.clone(),
        problem: problem.map(|problem| problem.to_string()),
        neighbour: entry.and_then(|entry| entry.mac.clone()),
    }
}

#[cfg(test)]
mod tests {
    use std::{
        net::{IpAddr, Ipv4Addr, Ipv6Addr},
        time::Instant,
    };

    use super::*;

    fn ping(
        address: impl Into<IpAddr>,
        interface: Option<&str>,
        bytes: Option<u32>,
    ) -> ReachabilityProbe {
        ReachabilityProbe::Ping {
            address: address.into(),
            interface: interface.map(str::to_owned),
            bytes,
        }
    }

    #[test]
    fn nothing_asked_nothing_answered() {
        assert_eq!(run_probes(&[], PROBE_TIMEOUT), []);
    }

    #[test]
    fn answers_are_in_order_and_no_question_is_fatal() {
        let long = "a-name-that-no-interface-can-have";
        let probes: Vec<ReachabilityProbe> = (0..50)
            .flat_map(|round| {
                [
                    ping(Ipv4Addr::LOCALHOST, Some("no\0where"), Some(round)),
                    ping(Ipv4Addr::LOCALHOST, Some(long), Some(100 + round)),
                    ping(Ipv6Addr::LOCALHOST, None, Some(u32::MAX - round)),
                    ReachabilityProbe::Greeting {
                        address: "127.0.0.1:0".parse().unwrap(),
                    },
                ]
            })
            .collect();
        let started = Instant::now();
        let answers = run_probes(&probes, Duration::MAX);
        assert!(started.elapsed() < MAX_PROBE_TIMEOUT);
        assert_eq!(answers.len(), probes.len());
        for (answer, probe) in answers.iter().zip(&probes) {
            assert_eq!(answer.probe, *probe);
            assert!(answer.problem.is_some(), "{answer:?}");
        }
    }
}
