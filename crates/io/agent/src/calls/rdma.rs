//! An RDMA test of two or more ends: open → join → go → close. Each end is a worker of its agent.
//!
//! Endpoints travel over the sessions, so a test needs no open port, and works behind a firewall.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use crosstie_node::{
    Stop,
    groups::time_left,
    worker::{Worker, WorkerError},
};
use crosstie_rdma::{Figures, Offer, OpenRequest, Progress};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{
    Call, Context, NoError, ResourceId,
    call::with_causes,
    engines::{
        self,
        rdma::{Answer, Ask, Conditions, NAME, RdmaError},
    },
};

/// For a worker that was asked to end, before the call's own deadline.
const MARGIN: Duration = Duration::from_secs(3);

/// A worker of the session. It ends with the session, or when it is closed.
struct Test(Arc<Mutex<Worker>>);

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
        let mut worker = engines::start(NAME)?;
        let answer = ask(
            &mut worker,
            &Ask::Open(Box::new(request)),
            context.stop,
            &mut |()| (),
        )?;
        let Answer::Opened(offer, conditions) = answer else {
            return Err(RdmaError::OutOfOrder);
        };
        let test = context.resources.hold(Test(Arc::new(Mutex::new(worker))));
        Ok(Opened {
            test,
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
        match of_test(request.test, &Ask::Join(request.peer), context)? {
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
        match of_test(test, &Ask::Go, context)? {
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
        Ok(context.resources.take::<Test>(test).is_some())
    }
}

fn of_test<E: Serialize + DeserializeOwned>(
    test: ResourceId,
    wanted: &Ask,
    context: &Context<'_, E>,
) -> Result<Answer, RdmaError> {
    let worker = context
        .resources
        .with(test, |test: &mut Test| Arc::clone(&test.0));
    let worker = worker.ok_or(RdmaError::NoSuchTest)?;
    let mut worker = worker.lock().unwrap_or_else(PoisonError::into_inner);
    ask(&mut worker, wanted, context.stop, &mut |event: E| {
        context.emit(&event);
    })
}

fn ask<E: DeserializeOwned>(
    worker: &mut Worker,
    wanted: &Ask,
    stop: &Stop,
    on_event: &mut dyn FnMut(E),
) -> Result<Answer, RdmaError> {
    let wanted = serde_json::to_vec(wanted)?;
    let deadline = time_left().unwrap_or(MARGIN).saturating_sub(MARGIN);
    let answer = worker.ask(&wanted, deadline, stop, &mut |event| {
        // One that cannot be read is one of those that may be missed.
        if let Ok(event) = serde_json::from_slice(event) {
            on_event(event);
        }
    });
    let answer = answer?;
    serde_json::from_slice::<Result<Answer, RdmaError>>(&answer)?
}

impl From<WorkerError> for RdmaError {
    fn from(error: WorkerError) -> Self {
        let why = with_causes(&error);
        Self::Worker { why }
    }
}

impl From<serde_json::Error> for RdmaError {
    fn from(error: serde_json::Error) -> Self {
        let why = format!("its answer cannot be read: {error}");
        Self::Worker { why }
    }
}
