//! Data between nodes goes over sockets.

use crosstie_doctor::Hit;
use crosstie_model::Severity;

use crate::{
    report::Transport,
    run::{Nodes, Run},
    state::{HostId, Kind},
};

pub(super) fn fire(run: &Run) -> Vec<Hit> {
    if run.nodes != Nodes::Many {
        return Vec::new();
    }
    let socket = |name| Transport::of(run.state.names.get(name)) == Transport::Socket;
    let seen = run.seen(|kind| match kind {
        Kind::Network(name) | Kind::NetChannel { network: name, .. } => socket(name),
        _ => false,
    });
    if seen.is_empty() {
        return Vec::new();
    }
    let hit = run.hit(Severity::Fault, &seen);
    let hosts: Vec<HostId> = seen.iter().map(|(_, host, _)| *host).collect();
    vec![reason(run, &hosts, hit)]
}

/// Where the same hosts said why, their line and what helps.
fn reason(run: &Run, hosts: &[HostId], hit: Hit) -> Hit {
    const REASONS: &[(Kind, &str, &str)] = &[
        (
            Kind::InfinibandDisabled,
            "NCCL_IB_DISABLE is set, which turns RDMA off",
            "Unset NCCL_IB_DISABLE where the job gets its environment, and in nccl.conf; then start it again.",
        ),
        (
            Kind::SocketForced,
            "NCCL_NET=Socket asks for sockets",
            "Unset NCCL_NET where the job gets its environment, and in nccl.conf; then start it again.",
        ),
        (
            Kind::NoVerbs,
            "libibverbs cannot be opened where the job runs, so NCCL has no RDMA",
            "Install rdma-core where the job runs: in the container's image, not on the machine alone.",
        ),
        (
            Kind::NoInfinibandDevice,
            "NCCL found no RDMA device that it may use: none is visible or active where the job runs, or NCCL_IB_HCA matches none",
            "See nccl-no-ib-device below: make the devices visible, or correct NCCL_IB_HCA.",
        ),
    ];
    for (kind, cause, advice) in REASONS {
        let mut told = run.seen(|seen| seen == *kind);
        told.retain(|(_, host, _)| hosts.contains(host));
        if !told.is_empty() {
            return run.lines(hit.cause(*cause).advice(*advice), &told);
        }
    }
    hit
}
