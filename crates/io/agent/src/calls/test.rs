//! A test of two or more ends: open → join → go → close, with every engine. Each end is a worker that its agent's session
//! holds, asked one question at a time.

use std::{
    marker::PhantomData,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use crosstie_figures::TestProgress;
use crosstie_node::{StopFlag, child_processes::time_left, worker::WorkerProcess};
use serde::{Deserialize, Serialize};

use crate::{
    Call, CallContext, NoError, SessionResourceId,
    engines::{
        self, RdmaTestEngine, TcpTestEngine, TestEngine, TestEngineError, TestWorkerReply,
        TestWorkerRequest,
    },
};

/// For a worker that was asked to end, before the call's own deadline.
const WORKER_END_TIMEOUT: Duration = Duration::from_secs(3);

/// How the calls of an engine are named.
pub trait TestCallNames: TestEngine {
    const OPEN: &'static str;
    const JOIN: &'static str;
    const RUN: &'static str;
    const CLOSE: &'static str;
}

impl TestCallNames for RdmaTestEngine {
    const OPEN: &'static str = "rdma-open";
    const JOIN: &'static str = "rdma-join";
    const RUN: &'static str = "rdma-go";
    const CLOSE: &'static str = "rdma-close";
}

impl TestCallNames for TcpTestEngine {
    const OPEN: &'static str = "tcp-open";
    const JOIN: &'static str = "tcp-join";
    const RUN: &'static str = "tcp-go";
    const CLOSE: &'static str = "tcp-close";
}

/// A worker of the session. It ends with the session, or when it is closed.
struct Test<E>(Arc<Mutex<WorkerProcess>>, PhantomData<fn() -> E>);

pub struct TestOpenCall<E>(PhantomData<E>);

#[derive(Debug, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct TestOpenReply<E: TestEngine> {
    pub test: SessionResourceId,
    /// For the peer to join.
    pub endpoint: E::Endpoint,
    pub conditions: E::Conditions,
}

impl<E: TestCallNames> Call for TestOpenCall<E> {
    const NAME: &'static str = E::OPEN;
    type Request = E::Request;
    type Event = ();
    type Answer = TestOpenReply<E>;
    type Error = TestEngineError;

    fn run(
        request: E::Request,
        context: &CallContext<'_, ()>,
    ) -> Result<TestOpenReply<E>, TestEngineError> {
        let worker = engines::start(E::NAME);
        let mut worker = worker.map_err(|error| TestEngineError::worker(E::NAME, &error))?;
        let wanted = TestWorkerRequest::<E>::Open(Box::new(request));
        let answer = ask(&mut worker, &wanted, context.stop, &mut |_| ())?;
        let TestWorkerReply::Opened(opened) = answer else {
            return Err(TestEngineError::OutOfOrder);
        };
        let test = Test::<E>(Arc::new(Mutex::new(worker)), PhantomData);
        let (endpoint, conditions) = *opened;
        Ok(TestOpenReply {
            test: context.resources.hold(test),
            endpoint,
            conditions,
        })
    }
}

pub struct TestJoinCall<E>(PhantomData<E>);

#[derive(Debug, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct TestJoinRequest<E: TestEngine> {
    pub test: SessionResourceId,
    pub peer: E::Endpoint,
}

impl<E: TestCallNames> Call for TestJoinCall<E> {
    const NAME: &'static str = E::JOIN;
    type Request = TestJoinRequest<E>;
    type Event = ();
    type Answer = ();
    type Error = TestEngineError;

    fn run(
        request: TestJoinRequest<E>,
        context: &CallContext<'_, ()>,
    ) -> Result<(), TestEngineError> {
        let wanted = TestWorkerRequest::<E>::Join(Box::new(request.peer));
        match of_test(request.test, &wanted, context, &mut |_| ())? {
            TestWorkerReply::Joined => Ok(()),
            _ => Err(TestEngineError::OutOfOrder),
        }
    }
}

/// Both ends must have joined. An end that is only written to or read from need not go.
pub struct TestRunCall<E>(PhantomData<E>);

impl<E: TestCallNames> Call for TestRunCall<E> {
    const NAME: &'static str = E::RUN;
    type Request = SessionResourceId;
    type Event = TestProgress;
    type Answer = E::Figures;
    type Error = TestEngineError;

    fn run(
        test: SessionResourceId,
        context: &CallContext<'_, TestProgress>,
    ) -> Result<E::Figures, TestEngineError> {
        let emit = &mut |progress| context.emit(&progress);
        match of_test(test, &TestWorkerRequest::<E>::Go, context, emit)? {
            TestWorkerReply::Figures(figures) => Ok(*figures),
            _ => Err(TestEngineError::OutOfOrder),
        }
    }
}

pub struct TestCloseCall<E>(PhantomData<E>);

impl<E: TestCallNames> Call for TestCloseCall<E> {
    const NAME: &'static str = E::CLOSE;
    type Request = SessionResourceId;
    type Event = ();
    /// Whether there was such a test.
    type Answer = bool;
    type Error = NoError;

    fn run(test: SessionResourceId, context: &CallContext<'_, ()>) -> Result<bool, NoError> {
        Ok(context.resources.take::<Test<E>>(test).is_some())
    }
}

/// Asks the worker of a test that is open.
fn of_test<E: TestEngine, V>(
    test: SessionResourceId,
    wanted: &TestWorkerRequest<E>,
    context: &CallContext<'_, V>,
    on_event: &mut dyn FnMut(TestProgress),
) -> Result<TestWorkerReply<E>, TestEngineError> {
    let worker = context
        .resources
        .with(test, |test: &mut Test<E>| Arc::clone(&test.0));
    let worker = worker.ok_or(TestEngineError::NoSuchTest { engine: E::NAME })?;
    let mut worker = worker.lock().unwrap_or_else(PoisonError::into_inner);
    ask(&mut worker, wanted, context.stop, on_event)
}

fn ask<E: TestEngine>(
    worker: &mut WorkerProcess,
    wanted: &TestWorkerRequest<E>,
    stop: &StopFlag,
    on_event: &mut dyn FnMut(TestProgress),
) -> Result<TestWorkerReply<E>, TestEngineError> {
    let failed = |error: &dyn std::error::Error| TestEngineError::worker(E::NAME, error);
    let wanted = serde_json::to_vec(wanted).map_err(|error| failed(&error))?;
    let deadline = time_left()
        .unwrap_or(WORKER_END_TIMEOUT)
        .saturating_sub(WORKER_END_TIMEOUT);
    let answer = worker.ask(&wanted, deadline, stop, &mut |event| {
        // One that cannot be read is one of those that may be missed.
        if let Ok(event) = serde_json::from_slice(event) {
            on_event(event);
        }
    });
    let answer = answer.map_err(|error| failed(&error))?;
    serde_json::from_slice(&answer).unwrap_or_else(|error| {
        Err(TestEngineError::Worker {
            engine: E::NAME,
            why: format!("its answer cannot be read: {error}"),
        })
    })
}
