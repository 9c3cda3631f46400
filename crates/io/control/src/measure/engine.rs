//! How tests of one kind are opened, joined and run.

use std::{fmt::Debug, time::Duration};

use crosstie_agent::{
    CallError, SessionResourceId, TestCallNames, TestCloseCall, TestEngineError, TestJoinCall,
    TestJoinRequest, TestOpenCall, TestOpenReply, TestRunCall, call, call_while_wanted,
};
use crosstie_figures::TestProgress;
use crosstie_rdma::HostResourceShare;
use crosstie_reach::{CallLimits, Session};

use super::PairTest;

/// Which end of a test it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PairSide {
    Near,
    Far,
}

/// An engine of the agent's, for tests of two ends.
pub trait PairEngine: TestCallNames<Request: Clone> + Debug {
    /// With the role of this side, and its share of the node.
    fn of_side(
        test: &PairTest<Self::Request>,
        side: PairSide,
        share: HostResourceShare,
    ) -> Self::Request;

    /// What an end says that has no program to run: who is written to needs none.
    fn without_work(request: &Self::Request) -> Option<Self::Figures>;

    /// Whether its memory has to stay until the peer is done.
    fn stays_for_peer(request: &Self::Request) -> bool;

    /// After which an end takes its peer to be gone.
    fn silence(request: &Self::Request) -> Duration;

    /// How long it takes at most.
    fn longest(request: &Self::Request) -> Duration;
}

type Called<T> = Result<T, CallError<TestEngineError>>;

pub(super) fn open<T: PairEngine>(
    session: &dyn Session,
    request: &T::Request,
    within: Duration,
) -> Called<TestOpenReply<T>> {
    call::<TestOpenCall<T>>(session, request, within, &mut |()| ())
}

pub(super) fn join<T: PairEngine>(
    session: &dyn Session,
    test: SessionResourceId,
    peer: T::Endpoint,
    within: Duration,
) -> Called<()> {
    let request = TestJoinRequest { test, peer };
    call::<TestJoinCall<T>>(session, &request, within, &mut |()| ())
}

pub(super) fn run<T: PairEngine>(
    session: &dyn Session,
    test: SessionResourceId,
    limits: CallLimits<'_>,
    told: &mut dyn FnMut(TestProgress),
) -> Called<T::Figures> {
    call_while_wanted::<TestRunCall<T>>(session, &test, limits, told)
}

pub(super) fn close<T: PairEngine>(
    session: &dyn Session,
    test: SessionResourceId,
    within: Duration,
) {
    let _ = call::<TestCloseCall<T>>(session, &test, within, &mut |()| ());
}
