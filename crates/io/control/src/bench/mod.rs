//! RDMA between two nodes: every rail alone, in both directions, then all of them at once.

mod doubts;
mod figures;
mod options;
mod rails;
mod rdma;

use crosstie_report::bench::{Bench, RailResult};

use crate::{FleetSnapshot, SnapshotError, Targets, TargetsError};
use doubts::doubts;
pub use options::BenchOptions;
use rails::usable;
use rdma::RdmaRun;

#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    #[error(transparent)]
    Targets(#[from] TargetsError),
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
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
    let run = RdmaRun {
        fleet: &fleet,
        options,
    };
    let results = rails.iter().map(|rail| run.rail(rail));
    let results: Vec<RailResult> = results.collect();
    let all_rails = (rails.len() > 1).then(|| run.all(&rails));
    Ok(Bench {
        nodes: [near, far].map(|node| node.facts.host.name.clone()),
        operation: options.operation,
        size: options.size,
        queue_pairs: options.queue_pairs,
        rails: results,
        all_rails,
        doubts: doubts(&[&near.facts, &far.facts], &rails),
    })
}
