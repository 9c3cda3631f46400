//! libibverbs cannot be opened.

use crosstie_doctor::CheckHit;
use crosstie_model::{Severity, distribution::DEBIAN};

use crate::{
    run::{NcclRun, NodeCount},
    state::ObservationKind,
};

pub(super) fn fire(run: &NcclRun) -> Vec<CheckHit> {
    let seen = run.seen(|kind| kind == ObservationKind::NoVerbs);
    if seen.is_empty() {
        return Vec::new();
    }
    // On one node nothing crosses the network: worth knowing before the second one joins, no more.
    let severity = if run.nodes == NodeCount::One {
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
