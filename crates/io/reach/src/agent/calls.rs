//! The calls under way. Each is answered once: by its result, its deadline or its cancellation, whichever is first. The
//! latter two end its children, and the sending of a long answer.

use std::{
    any::Any,
    collections::HashMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc::SyncSender},
    thread,
    time::{Duration, Instant},
};

use crosstie_node::{
    cabling::{self, Stop},
    capture, change,
    groups::Work,
    trust,
};

use crate::protocol::{
    Answer, Event, Failure, FromAgent, Hello, ToAgent, What, encode_bytes, encode_message,
};

/// Bytes of a long answer that travel in one frame.
const CHUNK: usize = 1 << 20;

/// Longest time that a call is given, whatever it asks for.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

type Open = Arc<Mutex<HashMap<u64, Call>>>;

/// What is told of it, and what follows in bytes.
type Answered = Result<(Answer, Vec<u8>), Failure>;

struct Call {
    until: Instant,
    /// Ends its children.
    work: Work,
    /// Asks it to put back what it changed, and to end.
    stop: Stop,
    state: State,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum State {
    Working,
    /// Its answer travels; the thread that sends it is the one that ends the call.
    Sending,
    /// Whatever came of it, this is the answer.
    Failed(Failure),
}

pub(super) struct Calls {
    open: Open,
    output: SyncSender<Vec<u8>>,
}

impl Calls {
    pub(super) fn new(output: SyncSender<Vec<u8>>) -> Self {
        let open = Open::default();
        Self { open, output }
    }

    pub(super) fn take(&mut self, message: ToAgent) {
        match message {
            // Where so much waits to be written, the controller hears from us without it.
            ToAgent::Ping => self.say(&FromAgent::Pong),
            ToAgent::Cancel { id } => self.fail(id, Failure::Cancelled),
            ToAgent::Call {
                id,
                deadline_ms,
                what,
            } => self.start(id, Duration::from_millis(deadline_ms), move |stop| {
                answer(&what, stop)
            }),
        }
    }

    fn start(
        &mut self,
        id: u64,
        deadline: Duration,
        answer: impl FnOnce(&Stop) -> Answered + Send + 'static,
    ) {
        let until = Instant::now() + deadline.min(LONGEST);
        if lock(&self.open).contains_key(&id) {
            let result = Err(Failure::Busy);
            self.say(&FromAgent::Done { id, result });
            return;
        }
        let (work, stop) = (Work::within(deadline.min(LONGEST)), Stop::default());
        let call = Call {
            until,
            work: work.clone(),
            stop: stop.clone(),
            state: State::Working,
        };
        lock(&self.open).insert(id, call);
        let (open, output) = (Arc::clone(&self.open), self.output.clone());
        thread::spawn(move || {
            let result = catch_unwind(AssertUnwindSafe(|| work.run(|| answer(&stop))));
            let result = result.unwrap_or_else(|panic| {
                Err(Failure::Panicked {
                    message: message_of(panic.as_ref()),
                })
            });
            // One that was given up is answered already, and its number may be another's by now.
            match lock(&open).get_mut(&id) {
                Some(call) if call.stop.is(&stop) => call.state = State::Sending,
                _ => return,
            }
            let sent = result.map(|(answer, bytes)| {
                send(id, &bytes, &output, &work);
                answer
            });
            let state = lock(&open).remove(&id).map(|call| call.state);
            let result = match state {
                Some(State::Failed(failure)) => Err(failure),
                _ => sent,
            };
            let done = FromAgent::Done { id, result };
            // Nobody is left to tell when the channel is closed.
            let _ = output.send(encode_message(&done).unwrap_or_default());
        });
    }

    pub(super) fn next_deadline(&self) -> Option<Instant> {
        let open = lock(&self.open);
        let waiting = open.values().filter(|call| call.can_fail());
        waiting.map(|call| call.until).min()
    }

    pub(super) fn expire(&mut self, now: Instant) {
        let late: Vec<u64> = lock(&self.open)
            .iter()
            .filter(|(_, call)| call.can_fail() && call.until <= now)
            .map(|(id, _)| *id)
            .collect();
        for id in late {
            self.fail(id, Failure::Deadline);
        }
    }

    fn fail(&mut self, id: u64, failure: Failure) {
        let mut open = lock(&self.open);
        let Some(call) = open.get_mut(&id).filter(|call| call.can_fail()) else {
            return;
        };
        call.work.stop();
        call.stop.set();
        if call.state == State::Sending {
            call.state = State::Failed(failure);
            return;
        }
        open.remove(&id);
        drop(open);
        let result = Err(failure);
        self.say(&FromAgent::Done { id, result });
    }

    /// Never waits: this is the reading thread.
    fn say(&self, message: &FromAgent) {
        if let Ok(frame) = encode_message(message) {
            let _ = self.output.try_send(frame);
        }
    }
}

impl Call {
    fn can_fail(&self) -> bool {
        !matches!(self.state, State::Failed(_))
    }
}

fn lock(open: &Open) -> MutexGuard<'_, HashMap<u64, Call>> {
    open.lock().unwrap_or_else(PoisonError::into_inner)
}

fn answer(what: &What, stop: &Stop) -> Answered {
    Ok(match what {
        What::Hello => {
            let hello = Hello {
                machine: rustix::system::uname()
                    .machine()
                    .to_string_lossy()
                    .into_owned(),
                user: rustix::process::geteuid().as_raw(),
                process: std::process::id(),
            };
            (Answer::Hello(hello), Vec::new())
        }
        What::Collect => {
            let packed = capture::pack(&crosstie_node::collect());
            let bytes = packed.len() as u64;
            (Answer::Collected { bytes }, packed)
        }
        What::Trust(ask) => {
            let settled = crate::session::trust_here(ask, trust::pushed().as_ref());
            let settled = settled.map_err(|why| Failure::Refused { why })?;
            (Answer::Trusted(settled), Vec::new())
        }
        What::Cabling(probe) => {
            let listened = cabling::probe(probe, stop, cabling::STATE.as_ref());
            (Answer::Cabling(listened), Vec::new())
        }
        What::Change(ask) => (Answer::Changed(change::answer(ask)), Vec::new()),
    })
}

/// Sends as much of a long answer as is still wanted.
fn send(id: u64, bytes: &[u8], output: &SyncSender<Vec<u8>>, work: &Work) {
    if !bytes.is_empty() {
        let event = Event::Sending {
            bytes: bytes.len() as u64,
        };
        let _ = output.send(encode_message(&FromAgent::Event { id, event }).unwrap_or_default());
    }
    for chunk in bytes.chunks(CHUNK) {
        if work.is_stopped() {
            return;
        }
        let _ = output.send(encode_bytes(id, chunk).unwrap_or_default());
    }
}

fn message_of(panic: &(dyn Any + Send)) -> String {
    let text = panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "for no stated reason".to_owned())
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, channel, sync_channel};

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    fn refused(why: &str) -> Failure {
        let why = why.to_owned();
        Failure::Refused { why }
    }

    /// Answers when it is told what, like work that does not hear that it is given up.
    fn told(what: Receiver<Failure>) -> impl FnOnce(&Stop) -> Answered + Send {
        move |_| Err(what.recv().unwrap())
    }

    #[test]
    fn what_was_given_up_does_not_answer_for_the_next_of_its_number() {
        let (output, frames) = sync_channel(8);
        let mut calls = Calls::new(output);
        let ((tell_first, first), (tell_second, second)) = (channel(), channel());
        calls.start(1, LONG, told(first));
        calls.take(ToAgent::Cancel { id: 1 });
        calls.start(1, LONG, told(second));
        tell_first.send(refused("the first")).unwrap();
        // Two threads and this one know the calls, until the first is over.
        let until = Instant::now() + LONG;
        while Arc::strong_count(&calls.open) > 2 {
            assert!(Instant::now() < until, "the first goes on");
            thread::yield_now();
        }
        assert!(calls.next_deadline().is_some());
        tell_second.send(refused("the second")).unwrap();
        for failure in [Failure::Cancelled, refused("the second")] {
            let result = Err(failure);
            let done = encode_message(&FromAgent::Done { id: 1, result }).unwrap();
            assert_eq!(frames.recv_timeout(LONG).unwrap(), done);
        }
    }
}
