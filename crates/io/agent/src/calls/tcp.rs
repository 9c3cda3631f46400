//! A TCP test of two ends: open → join → go → close. Each end is a worker of its agent.
//!
//! The end that listens has its port open from `open` until `join` has all streams; the secret that opens it travels over
//! the sessions.

use crosstie_tcp::{Endpoint, Figures, OpenRequest, Progress};
use serde::{Deserialize, Serialize};

use super::engine::{close, of_test, open};
use crate::{
    Call, Context, NoError, ResourceId,
    engines::tcp::{Answer, Ask, Tcp, TcpError},
};

pub struct TcpOpen;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TcpOpened {
    pub test: ResourceId,
    /// For the peer to join.
    pub endpoint: Endpoint,
}

impl Call for TcpOpen {
    const NAME: &'static str = "tcp-open";
    type Ask = OpenRequest;
    type Event = ();
    type Answer = TcpOpened;
    type Error = TcpError;

    fn run(request: OpenRequest, context: &Context<'_, ()>) -> Result<TcpOpened, TcpError> {
        let (answer, test) = open::<Tcp>(&Ask::Open(Box::new(request)), context)?;
        let Answer::Opened(endpoint) = answer else {
            return Err(TcpError::OutOfOrder);
        };
        Ok(TcpOpened {
            test: context.resources.hold(test),
            endpoint: *endpoint,
        })
    }
}

pub struct TcpJoin;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TcpJoinRequest {
    pub test: ResourceId,
    pub peer: Endpoint,
}

impl Call for TcpJoin {
    const NAME: &'static str = "tcp-join";
    type Ask = TcpJoinRequest;
    type Event = ();
    type Answer = ();
    type Error = TcpError;

    fn run(request: TcpJoinRequest, context: &Context<'_, ()>) -> Result<(), TcpError> {
        let wanted = Ask::Join(Box::new(request.peer));
        match of_test::<Tcp, ()>(request.test, &wanted, context)? {
            Answer::Joined => Ok(()),
            _ => Err(TcpError::OutOfOrder),
        }
    }
}

/// Both ends must have joined, and go at the same time.
pub struct TcpGo;

impl Call for TcpGo {
    const NAME: &'static str = "tcp-go";
    type Ask = ResourceId;
    type Event = Progress;
    type Answer = Figures;
    type Error = TcpError;

    fn run(test: ResourceId, context: &Context<'_, Progress>) -> Result<Figures, TcpError> {
        match of_test::<Tcp, Progress>(test, &Ask::Go, context)? {
            Answer::Figures(figures) => Ok(*figures),
            _ => Err(TcpError::OutOfOrder),
        }
    }
}

pub struct TcpClose;

impl Call for TcpClose {
    const NAME: &'static str = "tcp-close";
    type Ask = ResourceId;
    type Event = ();
    /// Whether there was such a test.
    type Answer = bool;
    type Error = NoError;

    fn run(test: ResourceId, context: &Context<'_, ()>) -> Result<bool, NoError> {
        Ok(close::<Tcp>(test, context))
    }
}
