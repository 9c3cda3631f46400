//! RDMA tests.

use std::time::Duration;

use crosstie_agent::Rdma;
use crosstie_rdma::{Figures, OpenRequest, Role, Share};

use super::{
    PairTest,
    engine::{PairEngine, Side},
};

impl PairEngine for Rdma {
    fn of_side(test: &PairTest, side: Side, share: Share) -> OpenRequest {
        let (end, role) = match side {
            Side::Near => (&test.near, Role::Initiator),
            Side::Far => (&test.far, Role::Responder),
        };
        OpenRequest {
            role: if test.both_send { Role::Both } else { role },
            share,
            ..end.request.clone()
        }
    }

    fn without_work(request: &OpenRequest) -> Option<Figures> {
        let is_idle = request.role == Role::Responder && !request.has_working_responder();
        is_idle.then_some(Figures::Responded)
    }

    /// It may still be writing to this end's memory.
    fn stays_for_peer(request: &OpenRequest) -> bool {
        request.role == Role::Both
    }

    fn silence(request: &OpenRequest) -> Duration {
        request.times.silence()
    }

    fn longest(request: &OpenRequest) -> Duration {
        request.longest()
    }
}
