//! What the calls of every engine have in common: a worker that the session holds, asked one question at a time.

use std::{
    marker::PhantomData,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use crosstie_node::{
    Stop,
    groups::time_left,
    worker::{Worker, WorkerError},
};
use serde::{Serialize, de::DeserializeOwned};

use crate::{Context, ResourceId, engines};

/// For a worker that was asked to end, before the call's own deadline.
const MARGIN: Duration = Duration::from_secs(3);

/// How an engine is spoken to.
pub(crate) trait Protocol: 'static {
    const NAME: &'static str;
    type Ask: Serialize;
    type Answer: DeserializeOwned;
    type Error: DeserializeOwned + From<WorkerError> + From<serde_json::Error>;

    /// Of a session that has no such test.
    fn no_such_test() -> Self::Error;
}

/// A worker of the session. It ends with the session, or when it is closed.
pub(super) struct Test<P>(Arc<Mutex<Worker>>, PhantomData<fn() -> P>);

/// Starts a worker and asks it to open a test.
pub(super) fn open<P: Protocol>(
    wanted: &P::Ask,
    context: &Context<'_, ()>,
) -> Result<(P::Answer, Test<P>), P::Error> {
    let mut worker = engines::start(P::NAME)?;
    let answer = ask::<P, ()>(&mut worker, wanted, context.stop, &mut |()| ())?;
    Ok((answer, Test(Arc::new(Mutex::new(worker)), PhantomData)))
}

/// Asks the worker of a test that is open.
pub(super) fn of_test<P: Protocol, E: Serialize + DeserializeOwned>(
    test: ResourceId,
    wanted: &P::Ask,
    context: &Context<'_, E>,
) -> Result<P::Answer, P::Error> {
    let worker = context
        .resources
        .with(test, |test: &mut Test<P>| Arc::clone(&test.0));
    let worker = worker.ok_or_else(P::no_such_test)?;
    let mut worker = worker.lock().unwrap_or_else(PoisonError::into_inner);
    ask::<P, E>(&mut worker, wanted, context.stop, &mut |event: E| {
        context.emit(&event);
    })
}

/// Whether there was such a test.
pub(super) fn close<P: Protocol>(test: ResourceId, context: &Context<'_, ()>) -> bool {
    context.resources.take::<Test<P>>(test).is_some()
}

fn ask<P: Protocol, E: DeserializeOwned>(
    worker: &mut Worker,
    wanted: &P::Ask,
    stop: &Stop,
    on_event: &mut dyn FnMut(E),
) -> Result<P::Answer, P::Error> {
    let wanted = serde_json::to_vec(wanted)?;
    let deadline = time_left().unwrap_or(MARGIN).saturating_sub(MARGIN);
    let answer = worker.ask(&wanted, deadline, stop, &mut |event| {
        // One that cannot be read is one of those that may be missed.
        if let Ok(event) = serde_json::from_slice(event) {
            on_event(event);
        }
    });
    let answer = answer?;
    serde_json::from_slice::<Result<P::Answer, P::Error>>(&answer)?
}
