//! TCP tests.

use std::time::Duration;

use crosstie_agent::{
    CallError, ResourceId, TcpClose, TcpError, TcpGo, TcpJoin, TcpJoinRequest, TcpOpen, call,
};
use crosstie_figures::Progress;
use crosstie_rdma::Share;
use crosstie_reach::Session;
use crosstie_tcp::{Endpoint, Figures, OpenRequest, Role};

use super::{
    MeasureError, PairTest,
    engine::{Side, TestEngine},
};

#[derive(Debug)]
pub enum Tcp {}

impl TestEngine for Tcp {
    type Request = OpenRequest;
    type Endpoint = Endpoint;
    type Figures = Figures;
    /// Why it is not bound to its interface, if it is not.
    type Conditions = Option<String>;
    type Error = TcpError;

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

    fn longest(request: &OpenRequest) -> Duration {
        request.times.running() + 4 * request.times.silence()
    }

    fn open(
        session: &dyn Session,
        request: &OpenRequest,
        within: Duration,
    ) -> Result<(ResourceId, Endpoint, Option<String>), CallError<TcpError>> {
        let opened = call::<TcpOpen>(session, request, within, &mut |()| ())?;
        let unbound = opened.endpoint.unbound.clone();
        Ok((opened.test, opened.endpoint, unbound))
    }

    fn join(
        session: &dyn Session,
        test: ResourceId,
        peer: Endpoint,
        within: Duration,
    ) -> Result<(), CallError<TcpError>> {
        let request = TcpJoinRequest { test, peer };
        call::<TcpJoin>(session, &request, within, &mut |()| ())
    }

    fn go(
        session: &dyn Session,
        test: ResourceId,
        within: Duration,
        told: &mut dyn FnMut(Progress),
    ) -> Result<Figures, CallError<TcpError>> {
        call::<TcpGo>(session, &test, within, told)
    }

    fn close(session: &dyn Session, test: ResourceId, within: Duration) {
        let _ = call::<TcpClose>(session, &test, within, &mut |()| ());
    }

    fn failed(node: String, peer: Option<String>, source: CallError<TcpError>) -> MeasureError {
        let concerns_peer = matches!(
            source,
            CallError::Call(TcpError::Join { .. } | TcpError::Go { .. })
        );
        let peer = peer.filter(|_| concerns_peer);
        MeasureError::Tcp { node, peer, source }
    }
}
