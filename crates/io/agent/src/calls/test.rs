//! A test of two or more ends: open → join → go → close, with every engine. Each end is a worker that its agent's session
//! holds, asked one question at a time.

use std::{
    marker::PhantomData,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use crosstie_figures::Progress;
use crosstie_node::{Stop, groups::time_left, worker::Worker};
use serde::{Deserialize, Serialize};

use crate::{
    Call, Context, NoError, ResourceId,
    engines::{self, Answer, Ask, EngineError, Rdma, Tcp, TestEngine},
};

/// For a worker that was asked to end, before the call's own deadline.
const MARGIN: Duration = Duration::from_secs(3);

/// How the calls of an engine are named.
pub trait TestCalls: TestEngine {
    const OPEN: &'static str;
    const JOIN: &'static str;
    const GO: &'static str;
    const CLOSE: &'static str;
}

impl TestCalls for Rdma {
    const OPEN: &'static str = "rdma-open";
    const JOIN: &'static str = "rdma-join";
    const GO: &'static str = "rdma-go";
    const CLOSE: &'static str = "rdma-close";
}

impl TestCalls for Tcp {
    const OPEN: &'static str = "tcp-open";
    const JOIN: &'static str = "tcp-join";
    const GO: &'static str = "tcp-go";
    const CLOSE: &'static str = "tcp-close";
}

/// A worker of the session. It ends with the session, or when it is closed.
struct Test<E>(Arc<Mutex<Worker>>, PhantomData<fn() -> E>);

pub struct TestOpen<E>(PhantomData<E>);

#[derive(Debug, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct Opened<E: TestEngine> {
    pub test: ResourceId,
    /// For the peer to join.
    pub endpoint: E::Endpoint,
    pub conditions: E::Conditions,
}

impl<E: TestCalls> Call for TestOpen<E> {
    const NAME: &'static str = E::OPEN;
    type Ask = E::Request;
    type Event = ();
    type Answer = Opened<E>;
    type Error = EngineError;

    fn run(request: E::Request, context: &Context<'_, ()>) -> Result<Opened<E>, EngineError> {
        let worker = engines::start(E::NAME);
        let mut worker = worker.map_err(|error| EngineError::worker(E::NAME, &error))?;
        let wanted = Ask::<E>::Open(Box::new(request));
        let answer = ask(&mut worker, &wanted, context.stop, &mut |_| ())?;
        let Answer::Opened(opened) = answer else {
            return Err(EngineError::OutOfOrder);
        };
        let test = Test::<E>(Arc::new(Mutex::new(worker)), PhantomData);
        let (endpoint, conditions) = *opened;
        Ok(Opened {
            test: context.resources.hold(test),
            endpoint,
            conditions,
        })
    }
}

pub struct TestJoin<E>(PhantomData<E>);

#[derive(Debug, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct JoinRequest<E: TestEngine> {
    pub test: ResourceId,
    pub peer: E::Endpoint,
}

impl<E: TestCalls> Call for TestJoin<E> {
    const NAME: &'static str = E::JOIN;
    type Ask = JoinRequest<E>;
    type Event = ();
    type Answer = ();
    type Error = EngineError;

    fn run(request: JoinRequest<E>, context: &Context<'_, ()>) -> Result<(), EngineError> {
        let wanted = Ask::<E>::Join(Box::new(request.peer));
        match of_test(request.test, &wanted, context, &mut |_| ())? {
            Answer::Joined => Ok(()),
            _ => Err(EngineError::OutOfOrder),
        }
    }
}

/// Both ends must have joined. An end that is only written to or read from need not go.
pub struct TestGo<E>(PhantomData<E>);

impl<E: TestCalls> Call for TestGo<E> {
    const NAME: &'static str = E::GO;
    type Ask = ResourceId;
    type Event = Progress;
    type Answer = E::Figures;
    type Error = EngineError;

    fn run(test: ResourceId, context: &Context<'_, Progress>) -> Result<E::Figures, EngineError> {
        let emit = &mut |progress| context.emit(&progress);
        match of_test(test, &Ask::<E>::Go, context, emit)? {
            Answer::Figures(figures) => Ok(*figures),
            _ => Err(EngineError::OutOfOrder),
        }
    }
}

pub struct TestClose<E>(PhantomData<E>);

impl<E: TestCalls> Call for TestClose<E> {
    const NAME: &'static str = E::CLOSE;
    type Ask = ResourceId;
    type Event = ();
    /// Whether there was such a test.
    type Answer = bool;
    type Error = NoError;

    fn run(test: ResourceId, context: &Context<'_, ()>) -> Result<bool, NoError> {
        Ok(context.resources.take::<Test<E>>(test).is_some())
    }
}

/// Asks the worker of a test that is open.
fn of_test<E: TestEngine, V>(
    test: ResourceId,
    wanted: &Ask<E>,
    context: &Context<'_, V>,
    on_event: &mut dyn FnMut(Progress),
) -> Result<Answer<E>, EngineError> {
    let worker = context
        .resources
        .with(test, |test: &mut Test<E>| Arc::clone(&test.0));
    let worker = worker.ok_or(EngineError::NoSuchTest { engine: E::NAME })?;
    let mut worker = worker.lock().unwrap_or_else(PoisonError::into_inner);
    ask(&mut worker, wanted, context.stop, on_event)
}

fn ask<E: TestEngine>(
    worker: &mut Worker,
    wanted: &Ask<E>,
    stop: &Stop,
    on_event: &mut dyn FnMut(Progress),
) -> Result<Answer<E>, EngineError> {
    let failed = |error: &dyn std::error::Error| EngineError::worker(E::NAME, error);
    let wanted = serde_json::to_vec(wanted).map_err(|error| failed(&error))?;
    let deadline = time_left().unwrap_or(MARGIN).saturating_sub(MARGIN);
    let answer = worker.ask(&wanted, deadline, stop, &mut |event| {
        // One that cannot be read is one of those that may be missed.
        if let Ok(event) = serde_json::from_slice(event) {
            on_event(event);
        }
    });
    let answer = answer.map_err(|error| failed(&error))?;
    serde_json::from_slice(&answer).unwrap_or_else(|error| {
        Err(EngineError::Worker {
            engine: E::NAME,
            why: format!("its answer cannot be read: {error}"),
        })
    })
}
