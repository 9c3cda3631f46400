//! TCP tests.

use std::time::Duration;

use crosstie_agent::TcpTestEngine;
use crosstie_rdma::HostResourceShare;
use crosstie_tcp::{TcpFigures, TcpOpenRequest, TcpRole};

use super::{
    PairTest,
    engine::{PairEngine, PairSide},
};

impl PairEngine for TcpTestEngine {
    /// The far end listens, whichever of them sends.
    fn of_side(
        test: &PairTest<TcpOpenRequest>,
        side: PairSide,
        _: HostResourceShare,
    ) -> TcpOpenRequest {
        let (end, role) = match side {
            PairSide::Near => (&test.near, TcpRole::Connector),
            PairSide::Far => (&test.far, TcpRole::Listener),
        };
        TcpOpenRequest {
            role,
            ..end.request.clone()
        }
    }

    fn without_work(_: &TcpOpenRequest) -> Option<TcpFigures> {
        None
    }

    fn stays_for_peer(_: &TcpOpenRequest) -> bool {
        false
    }

    fn silence(request: &TcpOpenRequest) -> Duration {
        request.times.silence()
    }

    fn longest(request: &TcpOpenRequest) -> Duration {
        request.times.running() + 4 * request.times.silence()
    }
}
