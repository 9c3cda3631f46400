//! libibverbs cannot be opened.

use crosstie_doctor::Hit;
use crosstie_model::Severity;

use crate::{
    run::{Nodes, Run},
    state::Kind,
};

pub(super) fn fire(run: &Run) -> Vec<Hit> {
    let seen = run.seen(|kind| kind == Kind::NoVerbs);
    if seen.is_empty() {
        return Vec::new();
    }
    // On one node nothing crosses the network: worth knowing before the second one joins, no more.
    let severity = if run.nodes == Nodes::One {
        Severity::Info
    } else {
        Severity::Fault
    };
    let install = "apt-get install -y rdma-core libibverbs1 ibverbs-providers";
    vec![run.hit(severity, &seen).command(install)]
}
