//! Some channels between nodes go by RDMA and some by sockets.

use std::collections::BTreeSet;

use crosstie_doctor::Hit;
use crosstie_model::Severity;

use crate::{
    report::Transport,
    run::{Nodes, Run},
    state::Kind,
};

pub(super) fn fire(run: &Run) -> Vec<Hit> {
    if run.nodes != Nodes::Many || run.transport() != Transport::Mixed {
        return Vec::new();
    }
    let channels = !run.net_links().is_empty();
    let of = |wanted| {
        run.seen(|kind| match kind {
            Kind::NetChannel { network, .. } if channels => {
                Transport::of(run.state.names.get(network)) == wanted
            }
            Kind::Network(network) if !channels => {
                Transport::of(run.state.names.get(network)) == wanted
            }
            _ => false,
        })
    };
    let (rdma, socket) = (of(Transport::Ib), of(Transport::Socket));
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
    vec![run.lines(Hit::new(Severity::Fault, run.subject(&hosts)), &seen)]
}
