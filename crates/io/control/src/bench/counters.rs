//! Counters of both ends around every run.

use std::{cell::RefCell, time::Duration};

use crosstie_agent::{CountersCall, call};
use crosstie_counters::{
    CounterChanges, CounterPort, CounterReading, CounterSeverity, PayloadTraffic, TrafficCarrier,
    compare, counter_changes, counter_meaning,
};
use crosstie_report::bench::{CounterFinding, CounterFindingKind, RunCounters};

use crate::{Fleet, NodeError};

/// Of shorter messages, answers and headers are most of what ports count.
pub(super) const SHORTEST_COMPARED: u32 = 4096;
/// A card's firmware takes its time for some of them.
const COUNTERS_TIMEOUT: Duration = Duration::from_secs(10);

/// What was moved in one run, between which ports.
#[derive(Debug, Clone)]
pub(super) struct MovedTraffic {
    /// Places in [`CounterRecorder::ports`], of the node that sent and of the one that received.
    pub(super) sender: (usize, usize),
    pub(super) receiver: (usize, usize),
    /// All that these ports carried that way.
    pub(super) traffic: Vec<PayloadTraffic>,
}

/// Reads counters before and after each run, and keeps what they say.
pub(super) struct CounterRecorder<'a> {
    pub(super) fleet: &'a Fleet,
    /// As they are shown.
    pub(super) nodes: [String; 2],
    /// Of each node, in the order of the rails.
    pub(super) ports: [Vec<CounterPort>; 2],
    pub(super) recorded: RefCell<RecordedCounters>,
}

#[derive(Default)]
pub(super) struct RecordedCounters {
    pub(super) counters: Vec<RunCounters>,
    pub(super) findings: Vec<CounterFinding>,
}

impl CounterRecorder<'_> {
    /// Where an RDMA device's port is among a node's.
    pub(super) fn place(&self, node: usize, device: &str, port: u8) -> Option<usize> {
        self.ports[node].iter().position(|one| {
            let device_port = one.device.as_ref();
            device_port.is_some_and(|(name, number)| name == device && *number == u32::from(port))
        })
    }

    /// Runs it, and tells what it has moved by what it returned.
    pub(super) fn around<T>(
        &self,
        run: &str,
        work: impl FnOnce() -> T,
        moved: impl FnOnce(&T) -> Vec<MovedTraffic>,
    ) -> T {
        let before = self.read();
        let result = work();
        let after = self.read();
        let growths: [Vec<CounterChanges>; 2] = [0, 1].map(|node| {
            let pairs = before[node].iter().zip(&after[node]);
            pairs
                .map(|(before, after)| counter_changes(before, after))
                .collect()
        });
        let mut recorded = self.recorded.borrow_mut();
        for (node, growths) in growths.iter().enumerate() {
            for (port, growth) in self.ports[node].iter().zip(growths) {
                self.record(run, node, port, growth, &mut recorded);
            }
        }
        for moved in moved(&result) {
            self.compare(run, &moved, &growths, &mut recorded.findings);
        }
        result
    }

    /// Of both nodes; nothing of one that does not answer, whose run then says why.
    fn read(&self) -> [Vec<CounterReading>; 2] {
        let ports = self.ports.clone();
        let answers = self.fleet.call(COUNTERS_TIMEOUT, move |node, session, _| {
            let ports = ports.get(node).cloned().unwrap_or_default();
            let read = call::<CountersCall>(session, &ports, COUNTERS_TIMEOUT, &mut |()| ());
            read.map_err(NodeError::from)
        });
        let mut answers = answers.into_iter().map(|(name, answer)| {
            answer.unwrap_or_else(|error| {
                tracing::warn!(node = name, %error, "its counters cannot be read");
                Vec::new()
            })
        });
        [(); 2].map(|()| answers.next().unwrap_or_default())
    }

    fn record(
        &self,
        run: &str,
        node: usize,
        port: &CounterPort,
        growth: &CounterChanges,
        recorded: &mut RecordedCounters,
    ) {
        let (node, port) = (self.nodes[node].clone(), shown(port));
        for (counter, by) in growth.grown() {
            let Some(meaning) = counter_meaning(counter) else {
                continue;
            };
            recorded.findings.push(CounterFinding {
                run: run.to_owned(),
                node: node.clone(),
                port: port.clone(),
                counter: counter.to_string(),
                kind: match meaning.severity {
                    CounterSeverity::Error => CounterFindingKind::Error,
                    CounterSeverity::Held => CounterFindingKind::Held,
                },
                counted: by,
                text: format!("{counter} grew by {by}: {}", meaning.text),
            });
        }
        recorded.counters.push(RunCounters {
            run: run.to_owned(),
            node,
            port,
            grown: growth
                .grown()
                .map(|(counter, by)| (counter.to_string(), by))
                .collect(),
            lost: growth.lost().map(ToString::to_string).collect(),
        });
    }

    fn compare(
        &self,
        run: &str,
        moved: &MovedTraffic,
        growths: &[Vec<CounterChanges>; 2],
        findings: &mut Vec<CounterFinding>,
    ) {
        for ((node, port), is_sent) in [(moved.sender, true), (moved.receiver, false)] {
            let Some(growth) = growths[node].get(port) else {
                continue;
            };
            let Some(found) = compare(growth, &moved.traffic, is_sent) else {
                continue;
            };
            let what = match moved.traffic.first().map(|traffic| traffic.carrier) {
                Some(TrafficCarrier::Tcp { .. }) => "TCP",
                _ => "RDMA",
            };
            findings.push(CounterFinding {
                run: run.to_owned(),
                node: self.nodes[node].clone(),
                port: shown(&self.ports[node][port]),
                counter: found.counter.clone(),
                kind: CounterFindingKind::Bytes,
                counted: found.counted,
                text: format!(
                    "{} counted {} bytes, and {what} with its headers was {} to {}: packets were sent again, or other traffic was on the port",
                    found.counter, found.counted, found.at_least, found.at_most
                ),
            });
        }
    }
}

fn shown(port: &CounterPort) -> String {
    let device = port.device.as_ref().map(|(device, _)| device.clone());
    device
        .or_else(|| port.interface.clone())
        .unwrap_or_default()
}
