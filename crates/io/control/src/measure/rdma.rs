//! RDMA tests.

use std::time::Duration;

use crosstie_agent::RdmaTestEngine;
use crosstie_rdma::{HostResourceShare, RdmaFigures, RdmaOpenRequest, RdmaRole};

use super::{
    PairTest,
    engine::{PairEngine, PairSide},
};

impl PairEngine for RdmaTestEngine {
    fn of_side(test: &PairTest, side: PairSide, share: HostResourceShare) -> RdmaOpenRequest {
        let (end, role) = match side {
            PairSide::Near => (&test.near, RdmaRole::Initiator),
            PairSide::Far => (&test.far, RdmaRole::Responder),
        };
        RdmaOpenRequest {
            role: if test.both_send { RdmaRole::Both } else { role },
            share,
            ..end.request.clone()
        }
    }

    fn without_work(request: &RdmaOpenRequest) -> Option<RdmaFigures> {
        let is_idle = request.role == RdmaRole::Responder && !request.has_working_responder();
        is_idle.then_some(RdmaFigures::Responded)
    }

    /// It may still be writing to this end's memory.
    fn stays_for_peer(request: &RdmaOpenRequest) -> bool {
        request.role == RdmaRole::Both
    }

    fn silence(request: &RdmaOpenRequest) -> Duration {
        request.times.silence()
    }

    fn longest(request: &RdmaOpenRequest) -> Duration {
        request.longest()
    }
}
