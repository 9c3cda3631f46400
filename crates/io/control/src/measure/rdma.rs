//! RDMA tests.

use std::time::Duration;

use crosstie_agent::{
    CallError, Conditions, JoinRequest, RdmaClose, RdmaError, RdmaGo, RdmaJoin, RdmaOpen,
    ResourceId, call,
};
use crosstie_figures::Progress;
use crosstie_rdma::{Figures, Offer, OpenRequest, Role, Share};
use crosstie_reach::Session;

use super::{
    MeasureError, PairTest,
    engine::{Side, TestEngine},
};

#[derive(Debug)]
pub enum Rdma {}

impl TestEngine for Rdma {
    type Request = OpenRequest;
    type Endpoint = Offer;
    type Figures = Figures;
    type Conditions = Conditions;
    type Error = RdmaError;

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

    fn longest(request: &OpenRequest) -> Duration {
        request.longest()
    }

    fn open(
        session: &dyn Session,
        request: &OpenRequest,
        within: Duration,
    ) -> Result<(ResourceId, Offer, Conditions), CallError<RdmaError>> {
        let opened = call::<RdmaOpen>(session, request, within, &mut |()| ())?;
        Ok((opened.test, opened.offer, opened.conditions))
    }

    fn join(
        session: &dyn Session,
        test: ResourceId,
        peer: Offer,
        within: Duration,
    ) -> Result<(), CallError<RdmaError>> {
        let request = JoinRequest { test, peer };
        call::<RdmaJoin>(session, &request, within, &mut |()| ())
    }

    fn go(
        session: &dyn Session,
        test: ResourceId,
        within: Duration,
        told: &mut dyn FnMut(Progress),
    ) -> Result<Figures, CallError<RdmaError>> {
        call::<RdmaGo>(session, &test, within, told)
    }

    fn close(session: &dyn Session, test: ResourceId, within: Duration) {
        let _ = call::<RdmaClose>(session, &test, within, &mut |()| ());
    }

    fn failed(node: String, peer: Option<String>, source: CallError<RdmaError>) -> MeasureError {
        let concerns_peer = matches!(
            source,
            CallError::Call(RdmaError::Join { .. } | RdmaError::Go { .. })
        );
        let peer = peer.filter(|_| concerns_peer);
        MeasureError::Rdma { node, peer, source }
    }
}
