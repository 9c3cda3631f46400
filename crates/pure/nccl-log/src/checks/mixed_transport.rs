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
        let mut seen = run.seen(|kind| match kind {
            Kind::NetChannel { network, .. } if channels => {
                Transport::of(run.state.names.get(network)) == wanted
            }
            Kind::Network(network) if !channels => {
                Transport::of(run.state.names.get(network)) == wanted
            }
            _ => false,
        });
        // Two lines of each are enough to see both.
        seen.truncate(1);
        seen
    };
    let seen = [of(Transport::Ib), of(Transport::Socket)].concat();
    let hosts: BTreeSet<_> = seen.iter().map(|(_, host, _)| *host).collect();
    vec![run.lines(Hit::new(Severity::Fault, run.subject(&hosts)), &seen)]
}
