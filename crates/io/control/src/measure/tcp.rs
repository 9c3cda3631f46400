//! TCP tests.

use std::time::Duration;

use crosstie_agent::Tcp;
use crosstie_rdma::Share;
use crosstie_tcp::{Figures, OpenRequest, Role};

use super::{
    PairTest,
    engine::{PairEngine, Side},
};

impl PairEngine for Tcp {
    /// The far end listens, whichever of them sends.
    fn of_side(test: &PairTest<OpenRequest>, side: Side, _: Share) -> OpenRequest {
        let (end, role) = match side {
            Side::Near => (&test.near, Role::Connector),
            Side::Far => (&test.far, Role::Listener),
        };
        OpenRequest {
            role,
            ..end.request.clone()
        }
    }

    fn without_work(_: &OpenRequest) -> Option<Figures> {
        None
    }

    fn stays_for_peer(_: &OpenRequest) -> bool {
        false
    }

    fn silence(request: &OpenRequest) -> Duration {
        request.times.silence()
    }

    fn longest(request: &OpenRequest) -> Duration {
        request.times.running() + 4 * request.times.silence()
    }
}
