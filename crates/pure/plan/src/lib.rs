//! What would be changed on each node so that it is what the cluster file says: files, steps, and the rollback.
//!
//! ```text
//! Spec ──check──▶ wiring (who is joined to whom, addresses) ──┐
//! Facts of all nodes ─────────────────────────────────────────┴─▶ per node: guards, files, steps ──▶ Plan
//! ```
//!
//! A plan holds work, never no-ops: each wanted file and value is compared with the facts. The same facts and the same
//! cluster file give the same plan, and a node or a cable that is added at the end changes nobody else's addresses.

mod addresses;
mod basis;
mod engines;
mod files;
mod guards;
mod management;
mod node;
mod predicted_facts;
mod qos;
mod renderer;
mod set_aside;
pub mod simulated_node;
mod topology;
mod wiring;

use std::collections::BTreeSet;

use crosstie_model::{
    ClusterPlan, ClusterSpec, Facts, NodePlan,
    plan::{FORMAT, PlanRefusal},
    spec::SpecFault,
};
use thiserror::Error;

pub use basis::{VOLATILE, VolatileFact, basis, changed};
pub use engines::{fabric_node, settings};
pub use files::paths;
pub use management::management_probes;
pub use node::SOCKET_BUFFER_BYTES;
pub use predicted_facts::predict_facts;
pub use renderer::keep_commands;
pub use topology::Topology;
pub use wiring::{CableTarget, PlannedWiring, WiredNode, WiredPort};

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the cluster file cannot be satisfied:{}", listed(.faults))]
pub struct InvalidSpecError {
    pub faults: Vec<SpecFault>,
}

fn listed(faults: &[SpecFault]) -> String {
    let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
    format!("\n  {}", faults.join("\n  "))
}

/// The plan for those nodes of the cluster whose facts are given.
pub fn plan(spec: &ClusterSpec, nodes: &[Facts]) -> Result<ClusterPlan, InvalidSpecError> {
    let faults = spec.check();
    if !faults.is_empty() {
        return Err(InvalidSpecError { faults });
    }
    let wiring = PlannedWiring::new(spec, nodes).map_err(|faults| InvalidSpecError { faults })?;
    let mut plans: Vec<NodePlan> = wiring
        .nodes
        .iter()
        .map(|wired| node::plan(&wiring, wired))
        .collect();
    let known: BTreeSet<&str> = spec.nodes.iter().map(|node| node.name.as_str()).collect();
    let strangers = nodes
        .iter()
        .filter(|facts| !known.contains(facts.host.name.as_str()));
    plans.extend(strangers.map(stranger));
    Ok(ClusterPlan {
        format: FORMAT,
        cluster: spec.name.clone(),
        nodes: plans,
        missing: wiring.missing.clone(),
        switches: qos::switches(spec),
    })
}

fn stranger(facts: &Facts) -> NodePlan {
    let name = facts.host.name.clone();
    NodePlan {
        node: name.clone(),
        basis: basis(facts),
        refusals: vec![PlanRefusal::NotInCluster { name }],
        steps: Vec::new(),
        notes: Vec::new(),
        addresses: Vec::new(),
        settings: Vec::new(),
    }
}
