//! Counters of the ports of a step, before and after it.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

use crosstie_agent::{CountersCall, call};
use crosstie_counters::{
    CounterChange, CounterGroup, CounterPort, CounterReading, counter_changes,
};
use crosstie_model::{
    Facts,
    run::{CounterGrowth, MeasuredEnd},
};

use crate::{Fleet, NodeError};

/// A card's firmware takes its time for some of them.
const COUNTERS_TIMEOUT: Duration = Duration::from_secs(10);

/// Ports by node, in the fleet's order.
pub(super) struct ProofPorts<'a> {
    fleet: &'a Fleet,
    hosts: Vec<&'a str>,
    of_node: Vec<Vec<CounterPort>>,
}

/// What all ports counted at one time.
pub(super) struct CounterSnapshot {
    at: Instant,
    of_node: Vec<Vec<CounterReading>>,
}

impl<'a> ProofPorts<'a> {
    pub(super) fn new(fleet: &'a Fleet, facts: &'a [Facts], pairs: &[[&MeasuredEnd; 2]]) -> Self {
        let hosts: Vec<&str> = facts.iter().map(|facts| facts.host.name.as_str()).collect();
        let mut of_node = vec![BTreeSet::new(); hosts.len()];
        for end in pairs.iter().flatten() {
            let place = hosts.iter().position(|host| *host == end.host);
            if let Some(ports) = place.and_then(|place| of_node.get_mut(place)) {
                ports.insert(port(&facts[place.unwrap_or_default()], end));
            }
        }
        let of_node = of_node.into_iter().map(|ports| ports.into_iter().collect());
        Self {
            fleet,
            of_node: of_node.collect(),
            hosts,
        }
    }

    /// Nothing of a node that does not answer, whose test then says why.
    pub(super) fn read(&self) -> CounterSnapshot {
        let ports = self.of_node.clone();
        let answers = self.fleet.call(COUNTERS_TIMEOUT, move |node, session, _| {
            match ports.get(node).map_or(&[][..], Vec::as_slice) {
                [] => Ok(Vec::new()),
                ports => {
                    call::<CountersCall>(session, &ports.to_vec(), COUNTERS_TIMEOUT, &mut |()| ())
                        .map_err(NodeError::from)
                }
            }
        });
        let answers = answers.into_iter();
        CounterSnapshot {
            at: Instant::now(),
            of_node: answers
                .map(|(_, answer)| answer.unwrap_or_default())
                .collect(),
        }
    }

    /// Of each pair.
    pub(super) fn growth(
        &self,
        before: &CounterSnapshot,
        after: &CounterSnapshot,
        pairs: &[[&MeasuredEnd; 2]],
    ) -> Vec<CounterGrowth> {
        let of_end = |end: &MeasuredEnd| -> BTreeMap<String, u64> {
            let found = (|| {
                let node = self.hosts.iter().position(|host| *host == end.host)?;
                let mut ports = self.of_node[node].iter();
                let port = ports.position(|port| is_of(port, end))?;
                let (before, after) = (before.of_node.get(node)?, after.of_node.get(node)?);
                Some(grown(before.get(port)?, after.get(port)?))
            })();
            found.unwrap_or_default()
        };
        let nanoseconds = after.at.duration_since(before.at).as_nanos();
        let pairs = pairs.iter();
        pairs
            .map(|[from, to]| CounterGrowth {
                from: of_end(from),
                to: of_end(to),
                nanoseconds: u64::try_from(nanoseconds).ok(),
                bytes: None,
            })
            .collect()
    }
}

fn port(facts: &Facts, end: &MeasuredEnd) -> CounterPort {
    let number = || {
        let mut devices = facts.rdma.iter();
        let device = devices.find(|one| Some(&one.name) == end.device.as_ref())?;
        let mut ports = device.ports.iter();
        // A device with several ports has an interface for each.
        let own = ports.find(|port| port.netdev.known() == end.interface.as_ref());
        Some(own.or(device.ports.first())?.number)
    };
    CounterPort {
        device: end.device.clone().zip(number()),
        interface: end.interface.clone(),
    }
}

fn is_of(port: &CounterPort, end: &MeasuredEnd) -> bool {
    let device = port.device.as_ref().map(|(device, _)| device);
    device == end.device.as_ref() && port.interface == end.interface
}

/// By the counters' own names; where two places have one of the same name, the one closer to the card counts.
fn grown(before: &CounterReading, after: &CounterReading) -> BTreeMap<String, u64> {
    let growth = counter_changes(before, after);
    let mut named = BTreeMap::new();
    for group in CounterGroup::ALL {
        // The node's TCP is no port's.
        if group == CounterGroup::Tcp {
            continue;
        }
        for (counter, change) in growth
            .changes
            .iter()
            .filter(|(counter, _)| counter.group == group)
        {
            if let CounterChange::Grew(by) = change {
                named.entry(counter.name.clone()).or_insert(*by);
            }
        }
    }
    named
}
