//! A call that is added in one file: all that a call can do.

use std::{
    sync::{Barrier, Mutex},
    thread,
    time::Duration,
};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{Call, CallContext, CallTableRow, SessionResourceId};

pub(super) const TABLE: &[CallTableRow] = &[CallTableRow::of::<Echo>()];

pub(super) struct Echo;

#[derive(Serialize, Deserialize)]
pub(super) enum Ask {
    Say(String),
    /// So many events, as fast as it can.
    Events(u64),
    /// So many bytes, each the low byte of its number.
    Stream(u64),
    Hold(String),
    Held(SessionResourceId),
    /// Until it is stopped. The name is for whoever looks for that.
    Wait(String),
    /// For another call of the same session.
    Meet,
    Refuse,
    Panic,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Answer {
    Said(String),
    Count(u64),
    Holds(SessionResourceId),
    Nothing,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, Error)]
#[error("it does not want to")]
pub(super) struct Unwilling;

/// Tells of its end.
pub(super) struct Resource(pub(super) String);

/// Of one test.
pub(super) static DROPPED: Mutex<Vec<String>> = Mutex::new(Vec::new());
pub(super) static STOPPED: Mutex<Vec<String>> = Mutex::new(Vec::new());
static MEETING: Barrier = Barrier::new(2);

impl Drop for Resource {
    fn drop(&mut self) {
        DROPPED.lock().unwrap().push(self.0.clone());
    }
}

impl Call for Echo {
    const NAME: &'static str = "echo";
    type Request = Ask;
    type Event = (u64, String);
    type Answer = Answer;
    type Error = Unwilling;

    fn run(ask: Ask, context: &CallContext<'_, (u64, String)>) -> Result<Answer, Unwilling> {
        Ok(match ask {
            Ask::Say(text) => Answer::Said(text),
            Ask::Events(count) => {
                let ballast = "x".repeat(1000);
                for number in 0..count {
                    context.emit(&(number, ballast.clone()));
                }
                Answer::Count(count)
            }
            Ask::Stream(count) => {
                let bytes: Vec<u8> = (0..count).map(|number| number.to_le_bytes()[0]).collect();
                match context.stream(&bytes) {
                    Ok(()) => Answer::Count(count),
                    Err(_) => Answer::Nothing,
                }
            }
            Ask::Hold(name) => Answer::Holds(context.resources.hold(Resource(name))),
            Ask::Held(id) => {
                let name = |resource: &mut Resource| resource.0.clone();
                let held = context.resources.with(id, name);
                held.map_or(Answer::Nothing, Answer::Said)
            }
            Ask::Wait(name) => {
                while !context.stop.is_set() {
                    thread::sleep(Duration::from_millis(1));
                }
                STOPPED.lock().unwrap().push(name);
                Answer::Nothing
            }
            Ask::Meet => {
                MEETING.wait();
                Answer::Nothing
            }
            Ask::Refuse => return Err(Unwilling),
            // No panic hook, which may print a trace for longer than the deadline.
            Ask::Panic => std::panic::resume_unwind(Box::new("on purpose")),
        })
    }
}
