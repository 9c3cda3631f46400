//! How tests of one kind are opened, joined and run.

use std::{fmt::Debug, time::Duration};

use crosstie_agent::{CallError, ResourceId};
use crosstie_figures::Progress;
use crosstie_rdma::Share;
use crosstie_reach::Session;

use super::{MeasureError, PairTest};

/// Which end of a test it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Near,
    Far,
}

/// An engine of the agent's, by its calls.
pub trait TestEngine: Debug + 'static {
    type Request: Debug + Clone + Send + Sync + 'static;
    /// What the peer has to know to join.
    type Endpoint: Clone + Send + 'static;
    type Figures: Debug + Send + 'static;
    /// What an end runs with.
    type Conditions: Debug + Send + 'static;
    type Error: Send + 'static;

    /// With the role of this side, and its share of the node.
    fn of_side(test: &PairTest<Self::Request>, side: Side, share: Share) -> Self::Request;

    /// What an end says that has no program to run: who is written to needs none.
    fn without_work(request: &Self::Request) -> Option<Self::Figures>;

    /// Whether its memory has to stay until the peer is done.
    fn stays_for_peer(request: &Self::Request) -> bool;

    /// How long it takes at most.
    fn longest(request: &Self::Request) -> Duration;

    #[allow(clippy::type_complexity)] // a test, what its peer needs, and how it runs
    fn open(
        session: &dyn Session,
        request: &Self::Request,
        within: Duration,
    ) -> Result<(ResourceId, Self::Endpoint, Self::Conditions), CallError<Self::Error>>;

    fn join(
        session: &dyn Session,
        test: ResourceId,
        peer: Self::Endpoint,
        within: Duration,
    ) -> Result<(), CallError<Self::Error>>;

    fn go(
        session: &dyn Session,
        test: ResourceId,
        within: Duration,
        told: &mut dyn FnMut(Progress),
    ) -> Result<Self::Figures, CallError<Self::Error>>;

    fn close(session: &dyn Session, test: ResourceId, within: Duration);

    /// `peer` is named where it may be the peer's fault.
    fn failed(node: String, peer: Option<String>, source: CallError<Self::Error>) -> MeasureError;
}
