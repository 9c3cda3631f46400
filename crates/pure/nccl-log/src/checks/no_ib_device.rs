//! NCCL found no RDMA device.

use crosstie_doctor::CheckHit;
use crosstie_model::Severity;

use crate::{
    report::NcclTransport,
    run::{NcclRun, NodeCount},
    state::ObservationKind,
};

pub(super) fn fire(run: &NcclRun) -> Vec<CheckHit> {
    let mut seen = run.seen(|kind| kind == ObservationKind::NoInfinibandDevice);
    if run.nodes != NodeCount::Many || seen.is_empty() {
        return Vec::new();
    }
    // Where a plugin for another kind of network is in use, verbs are not missed.
    let other = run.seen(|kind| match kind {
        ObservationKind::Network(name) => {
            NcclTransport::of(run.state.names.get(name)) == NcclTransport::Unknown
        }
        _ => false,
    });
    seen.retain(|(_, host, _)| !other.iter().any(|(_, served, _)| served == host));
    if seen.is_empty() {
        return Vec::new();
    }
    let hit = run.hit(Severity::Fault, &seen);
    vec![hit.command("ibv_devinfo").command("env | grep NCCL_IB")]
}
