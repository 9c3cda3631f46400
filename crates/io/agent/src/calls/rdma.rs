//! An RDMA test of two or more ends: open → join → go → close. Each end is a worker of its agent.
//!
//! Endpoints travel over the sessions, so a test needs no open port, and works behind a firewall.

use crosstie_rdma::{Figures, Offer, OpenRequest, Progress};
use serde::{Deserialize, Serialize};

use super::engine::{close, of_test, open};
use crate::{
    Call, Context, NoError, ResourceId,
    engines::rdma::{Answer, Ask, Conditions, Rdma, RdmaError},
};

pub struct RdmaOpen;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Opened {
    pub test: ResourceId,
    /// For the peer to join.
    pub offer: Offer,
    pub conditions: Conditions,
}

impl Call for RdmaOpen {
    const NAME: &'static str = "rdma-open";
    type Ask = OpenRequest;
    type Event = ();
    type Answer = Opened;
    type Error = RdmaError;

    fn run(request: OpenRequest, context: &Context<'_, ()>) -> Result<Opened, RdmaError> {
        let (answer, test) = open::<Rdma>(&Ask::Open(Box::new(request)), context)?;
        let Answer::Opened(offer, conditions) = answer else {
            return Err(RdmaError::OutOfOrder);
        };
        Ok(Opened {
            test: context.resources.hold(test),
            offer,
            conditions,
        })
    }
}

pub struct RdmaJoin;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct JoinRequest {
    pub test: ResourceId,
    /// As many queue pairs as were opened here, in the same order.
    pub peer: Offer,
}

impl Call for RdmaJoin {
    const NAME: &'static str = "rdma-join";
    type Ask = JoinRequest;
    type Event = ();
    type Answer = ();
    type Error = RdmaError;

    fn run(request: JoinRequest, context: &Context<'_, ()>) -> Result<(), RdmaError> {
        let wanted = Ask::Join(request.peer);
        match of_test::<Rdma, ()>(request.test, &wanted, context)? {
            Answer::Joined => Ok(()),
            _ => Err(RdmaError::OutOfOrder),
        }
    }
}

/// Both ends must have joined. An end that is only written to or read from need not go.
pub struct RdmaGo;

impl Call for RdmaGo {
    const NAME: &'static str = "rdma-go";
    type Ask = ResourceId;
    type Event = Progress;
    type Answer = Figures;
    type Error = RdmaError;

    fn run(test: ResourceId, context: &Context<'_, Progress>) -> Result<Figures, RdmaError> {
        match of_test::<Rdma, Progress>(test, &Ask::Go, context)? {
            Answer::Figures(figures) => Ok(*figures),
            _ => Err(RdmaError::OutOfOrder),
        }
    }
}

pub struct RdmaClose;

impl Call for RdmaClose {
    const NAME: &'static str = "rdma-close";
    type Ask = ResourceId;
    type Event = ();
    /// Whether there was such a test.
    type Answer = bool;
    type Error = NoError;

    fn run(test: ResourceId, context: &Context<'_, ()>) -> Result<bool, NoError> {
        Ok(close::<Rdma>(test, context))
    }
}
