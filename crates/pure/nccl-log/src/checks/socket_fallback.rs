//! Data between nodes goes over sockets.

use crosstie_doctor::CheckHit;
use crosstie_model::Severity;

use crate::{
    report::NcclTransport,
    run::{NcclRun, NodeCount},
    state::{HostId, ObservationKind},
};

pub(super) fn fire(run: &NcclRun) -> Vec<CheckHit> {
    if run.nodes != NodeCount::Many {
        return Vec::new();
    }
    let socket = |name| NcclTransport::of(run.state.names.get(name)) == NcclTransport::Socket;
    let seen = run.seen(|kind| match kind {
        ObservationKind::Network(name) | ObservationKind::NetChannel { network: name, .. } => {
            socket(name)
        }
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
fn reason(run: &NcclRun, hosts: &[HostId], hit: CheckHit) -> CheckHit {
    const REASONS: &[(ObservationKind, &str, &str)] = &[
        (
            ObservationKind::InfinibandDisabled,
            "NCCL_IB_DISABLE is set, which turns RDMA off",
            "Unset NCCL_IB_DISABLE where the job gets its environment, and in nccl.conf; then start it again.",
        ),
        (
            ObservationKind::SocketForced,
            "NCCL_NET=Socket asks for sockets",
            "Unset NCCL_NET where the job gets its environment, and in nccl.conf; then start it again.",
        ),
        (
            ObservationKind::NoVerbs,
            "libibverbs cannot be opened where the job runs, so NCCL has no RDMA",
            "Install rdma-core where the job runs: in the container's image, not on the machine alone.",
        ),
        (
            ObservationKind::NoInfinibandDevice,
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
