//! RDMA between two nodes: every rail alone, in both directions, then all of them at once.

mod doubts;
mod figures;
mod options;
mod rails;
mod rdma;
mod requests;
mod userspace;

use crosstie_report::bench::{Bench, RailResult};

use crate::{FleetSnapshot, SnapshotError, Targets, TargetsError};
use doubts::of_devices;
pub use options::BenchOptions;
use rails::usable;
use rdma::RdmaRun;

#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    #[error(transparent)]
    Targets(#[from] TargetsError),
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    #[error("{list} messages cannot be posted at once where only {depth} may be under way")]
    ListBeyondDepth { list: u32, depth: u32 },
    #[error("RDMA is measured between two nodes, and {0} were named")]
    NotTwo(usize),
    #[error(
        "{near} and {far} share no RDMA rail: no active ports with addresses in one subnet (crosstie doctor {near} {far} tells why)"
    )]
    NoRail { near: String, far: String },
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

pub fn bench(targets: &Targets, options: &BenchOptions) -> Result<Bench, BenchError> {
    let (list, depth) = (options.list, options.depth);
    if list > depth {
        return Err(BenchError::ListBeyondDepth { list, depth });
    }
    let (_, fleet) = targets.find_live(true)?;
    let count = fleet.names().len();
    if count != 2 {
        return Err(BenchError::NotTwo(count));
    }
    let nodes = FleetSnapshot::take(&fleet).known()?;
    let [near, far] = &nodes[..] else {
        return Err(BenchError::NotTwo(nodes.len()));
    };
    let rails = usable(near, far, options.force)?;
    let hosts = [near, far].map(|node| node.facts.host.name.clone());
    let run = RdmaRun::new(&fleet, hosts.clone(), options);
    let results: Vec<RailResult> = rails.iter().map(|rail| run.rail(rail)).collect();
    let all_rails = (rails.len() > 1).then(|| run.all(&rails));
    let mut doubts = of_devices(&[&near.facts, &far.facts], &rails);
    doubts.extend(run.doubts());
    Ok(Bench {
        format: Bench::FORMAT,
        nodes: hosts,
        asked: options.asked(),
        rails: results,
        all_rails,
        findings: userspace::findings(&nodes),
        doubts,
    })
}
