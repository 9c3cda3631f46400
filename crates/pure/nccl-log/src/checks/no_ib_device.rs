//! NCCL found no RDMA device.

use crosstie_doctor::Hit;
use crosstie_model::Severity;

use crate::{
    report::Transport,
    run::{Nodes, Run},
    state::Kind,
};

pub(super) fn fire(run: &Run) -> Vec<Hit> {
    let mut seen = run.seen(|kind| kind == Kind::NoInfinibandDevice);
    if run.nodes != Nodes::Many || seen.is_empty() {
        return Vec::new();
    }
    // Where a plugin for another kind of network is in use, verbs are not missed.
    let other = run.seen(|kind| match kind {
        Kind::Network(name) => Transport::of(run.state.names.get(name)) == Transport::Unknown,
        _ => false,
    });
    seen.retain(|(_, host, _)| !other.iter().any(|(_, served, _)| served == host));
    if seen.is_empty() {
        return Vec::new();
    }
    let hit = run.hit(Severity::Fault, &seen);
    vec![hit.command("ibv_devinfo").command("env | grep NCCL_IB")]
}
