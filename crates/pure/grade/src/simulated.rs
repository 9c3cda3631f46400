//! A fabric made of numbers: for tests and examples. It takes the steps of a campaign and gives figures as a real one would,
//! with faults that were put into it.

#[cfg(test)]
mod tests;

use std::collections::HashMap;

use crosstie_model::{
    Cable, Gbps, Mtu, PortRef,
    run::{
        BandwidthFigures, CounterGrowth, FORMAT, LatencyFigures, MeasuredEnd, MeasurementFigures,
        MeasurementOutcome, ProofMode, ReachabilityFigure, RunHeader, RunNode, RunOptions, RunPort,
        StoredRun, TestKind,
    },
};

use crate::proof::{PlannedTest, ProofStateMachine, TestBatch, TestEndTable, TestResult};

/// Gb/s of a port.
const RATE: f64 = 100.0;
/// What a healthy pair reaches of its ceiling.
const HEALTHY: f64 = 0.98;
const PATH_MTU: u32 = 4096;
const HEADER_BYTES: u32 = 82;
const WINDOW_NANOSECONDS: u64 = 100_000_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SimulatedTopology {
    /// Two nodes and a cable for each rail.
    Pair { rails: u32 },
    /// Each node and the next one, and the last and the first.
    Ring { nodes: usize },
    /// Leaves of so many nodes each; what leaves a leaf is at most its nodes' rate divided by `oversubscription`.
    Switched {
        nodes: usize,
        leaf: usize,
        oversubscription: u32,
    },
}

/// What is wrong with it. Each leaves so many percent of the bandwidth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SimulatedFault {
    SlowNode {
        node: usize,
        percent: u32,
    },
    SlowSending {
        node: usize,
        percent: u32,
    },
    SlowReceiving {
        node: usize,
        percent: u32,
    },
    /// Between two nodes, both ways: their cable, or a path through the switch.
    SlowPath {
        a: usize,
        b: usize,
        percent: u32,
    },
    SlowPathOneWay {
        from: usize,
        to: usize,
        percent: u32,
    },
}

#[derive(Debug, Clone)]
pub struct SimulatedFabric {
    pub shape: SimulatedTopology,
    pub faults: Vec<SimulatedFault>,
    /// Where its noise begins.
    pub seed: u64,
}

impl SimulatedFabric {
    pub fn nodes(&self) -> usize {
        match self.shape {
            SimulatedTopology::Pair { .. } => 2,
            SimulatedTopology::Ring { nodes } | SimulatedTopology::Switched { nodes, .. } => nodes,
        }
    }

    pub fn host(node: usize) -> String {
        format!("node-{node}")
    }

    /// The header of a run of it.
    pub fn header(&self, mode: ProofMode) -> RunHeader {
        let (cabling, groups) = self.wiring();
        let mut ports: HashMap<String, Vec<RunPort>> = HashMap::new();
        for end in groups.iter().flatten() {
            let port = port(end);
            let of_host = ports.entry(end.host.clone()).or_default();
            if !of_host.contains(&port) {
                of_host.push(port);
            }
        }
        let node = |node| RunNode {
            ports: ports.remove(&Self::host(node)).unwrap_or_default(),
            host: Self::host(node),
            kernel: Some("6.17.0".to_owned()),
            ..RunNode::default()
        };
        RunHeader {
            format: FORMAT,
            started: "2026-11-01T12:00:00Z".to_owned(),
            crosstie: "0.1.0".to_owned(),
            cluster: Some("simulated".to_owned()),
            options: RunOptions {
                mode,
                test_milliseconds: 1000,
                sizes: vec![1 << 20],
                queue_pairs: vec![4],
                rate_gbps: None,
            },
            nodes: (0..self.nodes()).map(node).collect(),
            cabling,
            groups,
        }
    }

    fn wiring(&self) -> (Vec<Cable>, Vec<Vec<MeasuredEnd>>) {
        let cage = |node: usize, cage: usize| PortRef {
            node: Self::host(node),
            cage: format!("p{cage}"),
        };
        let direct = |a: PortRef, b: PortRef, rail: u32| {
            let cable = Cable::Direct { a, b, number: None };
            let group = cable
                .ends()
                .map(|end| measured_end(end, rail, &cable))
                .collect();
            (cable, group)
        };
        match self.shape {
            SimulatedTopology::Pair { rails } => {
                let rails = (0..rails).map(|rail| {
                    let at = rail as usize;
                    direct(cage(0, at), cage(1, at), rail)
                });
                rails.unzip()
            }
            SimulatedTopology::Ring { nodes } => {
                let cables =
                    (0..nodes).map(|node| direct(cage(node, 0), cage((node + 1) % nodes, 1), 0));
                cables.unzip()
            }
            SimulatedTopology::Switched { nodes, .. } => {
                let cable = |node| Cable::Switched {
                    port: cage(node, 0),
                    plane: "leaf".to_owned(),
                };
                let cables: Vec<Cable> = (0..nodes).map(cable).collect();
                let ends = cables
                    .iter()
                    .flat_map(|cable| cable.ends().map(move |end| measured_end(end, 0, cable)));
                let group = ends.collect();
                (cables, vec![group])
            }
        }
    }

    /// What one direction carries with nothing beside it.
    pub fn alone(&self, from: usize, to: usize) -> f64 {
        let own = self.faults.iter().filter_map(|fault| {
            let (hit, percent) = match *fault {
                SimulatedFault::SlowNode { node, percent } => (node == from || node == to, percent),
                SimulatedFault::SlowSending { node, percent } => (node == from, percent),
                SimulatedFault::SlowReceiving { node, percent } => (node == to, percent),
                SimulatedFault::SlowPath { a, b, percent } => {
                    ((a, b) == (from, to) || (b, a) == (from, to), percent)
                }
                SimulatedFault::SlowPathOneWay {
                    from: a,
                    to: b,
                    percent,
                } => ((a, b) == (from, to), percent),
            };
            hit.then_some(f64::from(percent) / 100.0)
        });
        own.fold(HEALTHY, f64::min) * ceiling()
    }

    /// What each of them carries when all run at once: every leaf's way out and way in is shared fairly.
    fn together(&self, flows: &[(usize, usize)], receivers: &[usize]) -> Vec<f64> {
        let mut rates: Vec<f64> = flows
            .iter()
            .map(|(from, to)| self.alone(*from, *to))
            .collect();
        if let SimulatedTopology::Switched {
            leaf,
            oversubscription,
            ..
        } = self.shape
        {
            #[allow(clippy::cast_precision_loss)] // nodes of a leaf
            let capacity = ceiling() * leaf as f64 / f64::from(oversubscription.max(1));
            let leaf_of = |node: usize| node / leaf.max(1);
            for way_in in [false, true] {
                let mut crossing: HashMap<usize, Vec<usize>> = HashMap::new();
                for (index, (from, to)) in flows.iter().enumerate() {
                    if leaf_of(*from) != leaf_of(*to) {
                        let leaf = leaf_of(if way_in { *to } else { *from });
                        crossing.entry(leaf).or_default().push(index);
                    }
                }
                for members in crossing.into_values() {
                    share(&mut rates, members, capacity);
                }
            }
        }
        // One port receives no more than it can.
        let mut of_receiver: HashMap<usize, Vec<usize>> = HashMap::new();
        for (index, receiver) in receivers.iter().enumerate() {
            of_receiver.entry(*receiver).or_default().push(index);
        }
        for members in of_receiver
            .into_values()
            .filter(|members| members.len() > 1)
        {
            share(&mut rates, members, ceiling() * HEALTHY);
        }
        rates
    }

    /// A few tenths of a percent, the same for the same test of the same fabric.
    fn noise(&self, step: &TestBatch, index: usize) -> f64 {
        let mut state = self.seed ^ (u64::from(step.round) << 32) ^ index as u64;
        // SplitMix64.
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        #[allow(clippy::cast_precision_loss)] // 16 bits
        let share = ((state >> 48) as f64) / 65536.0;
        1.0 - share * 0.01
    }

    /// What comes of a step.
    pub fn measure(&self, board: &TestEndTable, step: &TestBatch) -> Vec<TestResult> {
        let node = |end: usize| board.nodes[end];
        let flows: Vec<(usize, usize)> = step
            .tests
            .iter()
            .map(|test| (node(test.from), node(test.to)))
            .collect();
        let rates = match step.kind {
            TestKind::TcpBandwidth | TestKind::RdmaBandwidth(_) => {
                let receivers: Vec<usize> = step.tests.iter().map(|test| test.to).collect();
                self.together(&flows, &receivers)
            }
            _ => Vec::new(),
        };
        let tests = step.tests.iter().enumerate();
        tests
            .map(|(index, test)| {
                let figures = match step.kind {
                    TestKind::Reachability => {
                        MeasurementFigures::Reach(ReachabilityFigure::Answered {
                            hardware_address_checked: true,
                        })
                    }
                    TestKind::TcpLatency | TestKind::RdmaLatency => {
                        MeasurementFigures::Latency(latency())
                    }
                    _ => {
                        let rate = rates[index] * self.noise(step, index);
                        MeasurementFigures::Bandwidth(bandwidth(rate, *test, step.milliseconds))
                    }
                };
                TestResult {
                    outcome: MeasurementOutcome::Measured(figures),
                    counters: CounterGrowth::default(),
                    doubts: Vec::new(),
                    offset_milliseconds: u64::from(step.round) * u64::from(step.milliseconds),
                }
            })
            .collect()
    }

    /// A whole run, and in how many steps of RDMA bandwidth.
    pub fn prove(&self, mode: ProofMode) -> (StoredRun, usize) {
        let mut campaign = ProofStateMachine::new(self.header(mode));
        let mut steps = 0;
        let mut elapsed = 0;
        while let Some(step) = campaign.next(elapsed) {
            elapsed += u64::from(step.milliseconds);
            steps += usize::from(matches!(step.kind, TestKind::RdmaBandwidth(_)));
            let results = self.measure(campaign.board(), &step);
            campaign.record(&step, results);
        }
        (campaign.run().clone(), steps)
    }
}

/// Fair shares of a link among those that cross it: who wants less than a share leaves the rest to others.
fn share(rates: &mut [f64], mut members: Vec<usize>, capacity: f64) {
    members.sort_by(|a, b| rates[*a].total_cmp(&rates[*b]));
    let mut left = capacity;
    let mut waiting = members.len();
    for member in members {
        #[allow(clippy::cast_precision_loss)] // a number of flows
        let fair = left / waiting as f64;
        rates[member] = rates[member].min(fair);
        left -= rates[member];
        waiting -= 1;
    }
}

fn ceiling() -> f64 {
    RATE * f64::from(PATH_MTU) / f64::from(PATH_MTU + HEADER_BYTES)
}

fn measured_end(port: &PortRef, rail: u32, cable: &Cable) -> MeasuredEnd {
    MeasuredEnd {
        host: port.node.clone(),
        device: Some(format!("mlx5_{}", port.cage)),
        interface: Some(format!("eth-{}", port.cage)),
        address: None,
        rail,
        cable: Some(cable.to_string()),
    }
}

fn port(end: &MeasuredEnd) -> RunPort {
    RunPort {
        device: end.device.clone().unwrap_or_default(),
        port: 1,
        interface: end.interface.clone(),
        cage: None,
        model: Some("ConnectX-6".to_owned()),
        firmware: Some("20.43.1014".to_owned()),
        software: false,
        link_layer: None,
        rate_gbps: Some(Gbps(RATE)),
        interface_mtu: Some(Mtu(9000)),
        path_mtu: Some(Mtu(PATH_MTU)),
        header_bytes: Some(HEADER_BYTES),
        pcie: Vec::new(),
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // bytes of a second
fn bandwidth(gbps: f64, test: PlannedTest, milliseconds: u32) -> BandwidthFigures {
    let bytes = |nanoseconds: u64| {
        #[allow(clippy::cast_precision_loss)] // of seconds
        let bytes = gbps / 8.0 * nanoseconds as f64;
        bytes as u64
    };
    let nanoseconds = u64::from(milliseconds) * 1_000_000;
    let windows = nanoseconds / WINDOW_NANOSECONDS;
    BandwidthFigures {
        bytes: bytes(nanoseconds),
        messages: bytes(nanoseconds) / test.size.unwrap_or(1).max(1),
        nanoseconds,
        windows: (0..windows.min(10))
            .map(|_| bytes(WINDOW_NANOSECONDS))
            .collect(),
        window_nanoseconds: WINDOW_NANOSECONDS,
        processor_nanoseconds: nanoseconds,
        threads: 1,
        complete: true,
        ..BandwidthFigures::default()
    }
}

fn latency() -> LatencyFigures {
    LatencyFigures {
        count: 1000,
        least: 1400,
        p50: 1500,
        p99: 1700,
        p999: 2100,
        most: 4000,
        histogram: vec![(1500, 600), (1700, 390), (4000, 10)],
        complete: true,
    }
}
