//! RDMA and TCP between two nodes: every rail alone, in both directions, then all of them at once; counters around each.

mod counters;
mod doubts;
mod figures;
mod options;
mod peers;
mod rails;
mod rdma;
mod requests;
mod tcp;
mod userspace;

use std::cell::RefCell;

use crosstie_counters::CounterPort;
use crosstie_report::bench::{BenchReport, RailResult};

use crate::{
    CLUSTER_FILE, FleetSnapshot, NodeFacts, RequestedTargets, SnapshotError, TargetsError,
};
use counters::CounterRecorder;
pub(crate) use doubts::of_conditions;
use doubts::of_devices;
pub use options::{BenchOptions, BenchTransports};
pub use peers::peer_commands;
use rails::{UsableRails, usable};
use rdma::RdmaBenchRun;
use tcp::TcpBenchRun;

#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    #[error(transparent)]
    Targets(#[from] TargetsError),
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    #[error("{list} messages cannot be posted at once where only {depth} may be under way")]
    ListBeyondDepth { list: u32, depth: u32 },
    #[error("bandwidth is measured between two nodes: {}", two(*.count, *.named))]
    NotTwo { count: usize, named: bool },
    #[error(
        "{near} and {far} share no RDMA rail: no active ports with addresses in one subnet (crosstie doctor {near} {far} tells why)"
    )]
    NoRail { near: String, far: String },
    #[error("{near} and {far} share no subnet: no interfaces that are up with addresses in one")]
    NoSubnet { near: String, far: String },
    #[error(
        "{node}: {interface} carries management, and a test could cut it off; pass --force to measure it all the same"
    )]
    CarriesManagement { node: String, interface: String },
    #[error(
        "{node}: {device} is in use by {}; a test would disturb it and be disturbed. End it, or pass --force",
        users.join(", ")
    )]
    InUse {
        node: String,
        device: String,
        users: Vec<String>,
    },
}

/// What to do about it.
fn two(count: usize, named: bool) -> String {
    match (named, count) {
        (true, 1) => "name another beside the one that was named, like `. spark-b`".to_owned(),
        (true, count) => format!("name two, and not {count}"),
        (false, 1) => format!(
            "name two, like `. spark-b`, or the nodes by --lab or --cluster; there is no {CLUSTER_FILE} of two nodes here"
        ),
        (false, count) => format!("there are {count}; name two of them"),
    }
}

pub(super) fn not_two(count: usize, targets: &RequestedTargets) -> BenchError {
    BenchError::NotTwo {
        count,
        named: !targets.nodes.is_empty(),
    }
}

pub fn bench(
    targets: &RequestedTargets,
    options: &BenchOptions,
) -> Result<BenchReport, BenchError> {
    let (list, depth) = (options.list, options.depth);
    if list > depth {
        return Err(BenchError::ListBeyondDepth { list, depth });
    }
    let mut targets = targets.clone();
    targets.options.namespaces = true;
    let (_, fleet) = targets.find_live(true)?;
    let count = fleet.names().len();
    if count != 2 {
        return Err(not_two(count, &targets));
    }
    let nodes = FleetSnapshot::take(&fleet).known()?;
    let [near, far] = &nodes[..] else {
        return Err(not_two(nodes.len(), &targets));
    };
    let usable = usable(near, far, options.transports, options.force)?;
    let rails = &usable.rdma;
    let hosts = names(near, far);
    let recorder = CounterRecorder {
        fleet: &fleet,
        nodes: hosts.clone(),
        ports: ports(&usable),
        recorded: RefCell::default(),
    };
    let facts = [&*near.facts, &*far.facts];
    let run = RdmaBenchRun::new(&fleet, hosts.clone(), options, &recorder, facts);
    let results: Vec<RailResult> = rails.iter().map(|rail| run.rail(rail)).collect();
    let all_rails = (rails.len() > 1).then(|| run.all(rails));
    let mut doubts = of_devices(&facts, rails);
    doubts.extend(run.doubts());
    let tcp_run = TcpBenchRun {
        fleet: &fleet,
        options,
        recorder: &recorder,
        first_port: rails.len(),
        doubts: RefCell::default(),
        lost: RefCell::default(),
    };
    let tcp = (!usable.tcp.is_empty()).then(|| tcp_run.run(&usable.tcp));
    doubts.extend(tcp_run.doubts.into_inner());
    if rails.is_empty() && options.transports == BenchTransports::Both {
        doubts.push("no RDMA rail between these nodes: TCP alone was measured".to_owned());
    }
    let peers = if options.verify {
        peers::verify(&fleet, rails, &usable.tcp, [near, far], options)
    } else {
        Vec::new()
    };
    let seen = recorder.recorded.into_inner();
    let is_rdma = !rails.is_empty();
    Ok(BenchReport {
        format: BenchReport::FORMAT,
        nodes: hosts,
        asked: options.asked(),
        rails: results,
        all_rails,
        tcp,
        peers,
        counters: seen.counters,
        counter_findings: seen.findings,
        findings: if is_rdma {
            userspace::findings(&nodes)
        } else {
            Vec::new()
        },
        doubts,
    })
}

/// By their host names, where those tell them apart.
fn names(near: &NodeFacts, far: &NodeFacts) -> [String; 2] {
    let hosts = [near, far].map(|node| node.facts.host.name.clone());
    if hosts[0] == hosts[1] {
        [near, far].map(|node| node.destination.clone())
    } else {
        hosts
    }
}

/// Of each node: the rails' devices, then TCP's interfaces.
fn ports(usable: &UsableRails) -> [Vec<CounterPort>; 2] {
    [false, true].map(|is_far| {
        let rdma = usable.rdma.iter().map(|rail| {
            let end = if is_far { &rail.far } else { &rail.near };
            CounterPort {
                device: Some((end.device.clone(), end.port)),
                interface: end.interface.clone(),
            }
        });
        let tcp = usable.tcp.iter().map(|rail| {
            let end = if is_far { &rail.far } else { &rail.near };
            CounterPort {
                device: None,
                interface: Some(end.interface.clone()),
            }
        });
        rdma.chain(tcp).collect()
    })
}
