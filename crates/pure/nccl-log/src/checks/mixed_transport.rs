//! Some channels between nodes go by RDMA and some by sockets.

use std::collections::BTreeSet;

use crosstie_doctor::CheckHit;
use crosstie_model::Severity;

use crate::{
    report::NcclTransport,
    run::{NcclRun, NodeCount},
    state::ObservationKind,
};

pub(super) fn fire(run: &NcclRun) -> Vec<CheckHit> {
    if run.nodes != NodeCount::Many || run.transport() != NcclTransport::Mixed {
        return Vec::new();
    }
    let channels = !run.net_links().is_empty();
    let of = |wanted| {
        run.seen(|kind| match kind {
            ObservationKind::NetChannel { network, .. } if channels => {
                NcclTransport::of(run.state.names.get(network)) == wanted
            }
            ObservationKind::Network(network) if !channels => {
                NcclTransport::of(run.state.names.get(network)) == wanted
            }
            _ => false,
        })
    };
    let (rdma, socket) = (of(NcclTransport::Ib), of(NcclTransport::Socket));
    let hosts: BTreeSet<_> = rdma
        .iter()
        .chain(&socket)
        .map(|(_, host, _)| *host)
        .collect();
    // One host's lines of each are enough to see both.
    let seen: Vec<_> = rdma
        .into_iter()
        .take(1)
        .chain(socket.into_iter().take(1))
        .collect();
    vec![run.lines(CheckHit::new(Severity::Fault, run.subject(&hosts)), &seen)]
}
