//! libibverbs cannot be opened.

use crosstie_doctor::Hit;
use crosstie_model::{Severity, distribution::DEBIAN};

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
    // What the image is made of is not known.
    let install = format!(
        "{} {}",
        DEBIAN.package_manager.in_image,
        DEBIAN.packages.rdma.join(" ")
    );
    vec![run.hit(severity, &seen).command(install)]
}
