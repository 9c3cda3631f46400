//! The calls under way. Each is answered once: by its result, its deadline or its cancellation, whichever is first. The
//! latter two end its children, and its stream.

use std::{
    any::Any,
    collections::HashMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use crosstie_change::SessionChange;
use crosstie_node::{Stop, groups::Work};
use crosstie_reach::protocol::{Failure, ToAgent};

use crate::{
    context::RawContext,
    output::{CallOutput, Output},
    resources::Resources,
    table::{Row, Run},
};

/// Longest time that a call is given, whatever it asks for.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

type Open = Arc<Mutex<HashMap<u64, OpenCall>>>;

struct OpenCall {
    until: Instant,
    /// Ends its children.
    work: Work,
    /// Asks it to restore what it changed, and to end.
    stop: Stop,
    output: CallOutput,
}

pub(crate) struct Running {
    open: Open,
    table: &'static [Row],
    resources: Arc<Resources>,
    output: Arc<Output>,
}

impl Running {
    pub(crate) fn new(
        table: &'static [Row],
        resources: Arc<Resources>,
        output: Arc<Output>,
    ) -> Self {
        Self {
            open: Open::default(),
            table,
            resources,
            output,
        }
    }

    /// Never waits: this is the reading thread.
    pub(crate) fn take(&self, message: ToAgent, body: &[u8]) {
        match message {
            ToAgent::Ping => self.output.pong(),
            ToAgent::Interrupted => {
                let interrupted = |change: &mut SessionChange| change.own.set_interrupted();
                self.resources.with_only(interrupted);
            }
            ToAgent::Cancel { id } => self.fail(id, Failure::Cancelled),
            ToAgent::Credit { id, bytes } => {
                let output = lock(&self.open).get(&id).map(|call| call.output);
                if let Some(output) = output {
                    self.output.grant(output, bytes);
                }
            }
            ToAgent::Call {
                id,
                deadline_ms,
                name,
            } => match self.table.iter().find(|row| row.name == name) {
                Some(row) => self.start(id, Duration::from_millis(deadline_ms), row.run, body),
                None => self.output.refuse(id, Failure::Unknown { name }),
            },
        }
    }

    fn start(&self, id: u64, deadline: Duration, run: Run, ask: &[u8]) {
        let deadline = deadline.min(LONGEST);
        if lock(&self.open).contains_key(&id) {
            self.output.refuse(id, Failure::Busy);
            return;
        }
        let call = OpenCall {
            until: Instant::now() + deadline,
            work: Work::within(deadline),
            stop: Stop::default(),
            output: self.output.open(id),
        };
        let context = RawContext {
            stop: call.stop.clone(),
            resources: Arc::clone(&self.resources),
            output: Arc::clone(&self.output),
            call: call.output,
        };
        let work = call.work.clone();
        lock(&self.open).insert(id, call);
        let (open, ask) = (Arc::clone(&self.open), ask.to_vec());
        let started = thread::Builder::new().spawn(move || {
            let result = catch_unwind(AssertUnwindSafe(|| work.run(|| run(&ask, &context))));
            let result = result.unwrap_or_else(|panic| {
                Err(Failure::Panicked {
                    message: message_of(panic.as_ref()),
                })
            });
            context.output.flush(context.call);
            // One that was given up is answered already, and its number may be another's by now.
            {
                let mut open = lock(&open);
                match open.get(&id) {
                    Some(call) if call.output == context.call => open.remove(&id),
                    _ => return,
                };
            }
            let result = result.as_deref().map_err(Clone::clone);
            context.output.answer(context.call, result);
        });
        if let Err(error) = started {
            let message = error.to_string();
            self.fail(id, Failure::Panicked { message });
        }
    }

    pub(crate) fn count(&self) -> usize {
        lock(&self.open).len()
    }

    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        lock(&self.open).values().map(|call| call.until).min()
    }

    pub(crate) fn expire(&self, now: Instant) {
        let late: Vec<u64> = lock(&self.open)
            .iter()
            .filter(|(_, call)| call.until <= now)
            .map(|(id, _)| *id)
            .collect();
        for id in late {
            self.fail(id, Failure::Deadline);
        }
    }

    fn fail(&self, id: u64, failure: Failure) {
        let Some(call) = lock(&self.open).remove(&id) else {
            return;
        };
        call.stop.set();
        call.work.stop();
        self.output.answer(call.output, Err(failure));
    }

    /// Asks all of them to end.
    pub(crate) fn stop_all(&self) {
        lock(&self.open).values().for_each(|call| call.stop.set());
    }

    /// Ends the children of those that are left.
    pub(crate) fn end_children(&self) {
        lock(&self.open).values().for_each(|call| call.work.stop());
    }
}

fn lock(open: &Open) -> MutexGuard<'_, HashMap<u64, OpenCall>> {
    open.lock().unwrap_or_else(PoisonError::into_inner)
}

fn message_of(panic: &(dyn Any + Send)) -> String {
    let text = panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "for no stated reason".to_owned())
}
