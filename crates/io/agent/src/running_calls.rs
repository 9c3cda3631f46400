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

use crosstie_change::RollbackOnSessionEnd;
use crosstie_node::{StopFlag, child_processes::StoppableWork};
use crosstie_reach::protocol::{CallFailure, ToAgent};

use crate::{
    context::UntypedCallContext,
    output::{AgentOutput, CallOutputId},
    resources::SessionResources,
    table::{CallFunction, CallTableRow},
};

/// Longest time that a call is given, whatever it asks for.
const MAX_CALL_TIMEOUT: Duration = Duration::from_secs(24 * 3600);

type Open = Arc<Mutex<HashMap<u64, OpenCall>>>;

struct OpenCall {
    until: Instant,
    /// Ends its children.
    work: StoppableWork,
    /// Asks it to restore what it changed, and to end.
    stop: StopFlag,
    output: CallOutputId,
}

pub(crate) struct RunningCalls {
    open: Open,
    table: &'static [CallTableRow],
    resources: Arc<SessionResources>,
    output: Arc<AgentOutput>,
}

impl RunningCalls {
    pub(crate) fn new(
        table: &'static [CallTableRow],
        resources: Arc<SessionResources>,
        output: Arc<AgentOutput>,
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
                let interrupted = |change: &mut RollbackOnSessionEnd| change.own.set_interrupted();
                self.resources.with_only(interrupted);
            }
            ToAgent::Cancel { id } => self.fail(id, CallFailure::Cancelled),
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
                None => self.output.refuse(id, CallFailure::Unknown { name }),
            },
        }
    }

    fn start(&self, id: u64, deadline: Duration, run: CallFunction, ask: &[u8]) {
        let deadline = deadline.min(MAX_CALL_TIMEOUT);
        if lock(&self.open).contains_key(&id) {
            self.output.refuse(id, CallFailure::Busy);
            return;
        }
        let call = OpenCall {
            until: Instant::now() + deadline,
            work: StoppableWork::within(deadline),
            stop: StopFlag::default(),
            output: self.output.open(id),
        };
        let context = UntypedCallContext {
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
                Err(CallFailure::Panicked {
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
            self.fail(id, CallFailure::Panicked { message });
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
            self.fail(id, CallFailure::Deadline);
        }
    }

    fn fail(&self, id: u64, failure: CallFailure) {
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
