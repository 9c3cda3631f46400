//! The calls under way. Each is answered once: by its result, its deadline or its cancellation, whichever is first.

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
    capture,
};

use crate::protocol::{
    Answer, Event, Failure, FromAgent, Hello, ToAgent, What, encode_bytes, encode_message,
};

/// Bytes of a long answer that travel in one frame.
const CHUNK: usize = 1 << 20;

/// Longest time that a call is given, whatever it asks for.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// When each is late, and what ends its work.
type Open = Arc<Mutex<HashMap<u64, (Instant, Stop)>>>;

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
            } => self.start(id, Duration::from_millis(deadline_ms), what),
        }
    }

    fn start(&mut self, id: u64, deadline: Duration, what: What) {
        let until = Instant::now() + deadline.min(LONGEST);
        if lock(&self.open).contains_key(&id) {
            let result = Err(Failure::Busy);
            self.say(&FromAgent::Done { id, result });
            return;
        }
        let stop = Stop::default();
        lock(&self.open).insert(id, (until, stop.clone()));
        let (open, output) = (Arc::clone(&self.open), self.output.clone());
        thread::spawn(move || {
            let result = catch_unwind(AssertUnwindSafe(|| answer(&what, &stop)));
            if lock(&open).remove(&id).is_some() {
                let result = result.map_err(|panic| Failure::Panicked {
                    message: message_of(panic.as_ref()),
                });
                send(id, result, &output);
            }
        });
    }

    pub(super) fn next_deadline(&self) -> Option<Instant> {
        lock(&self.open).values().map(|(until, _)| *until).min()
    }

    pub(super) fn expire(&mut self, now: Instant) {
        let late: Vec<u64> = lock(&self.open)
            .iter()
            .filter(|(_, (until, _))| *until <= now)
            .map(|(id, _)| *id)
            .collect();
        for id in late {
            self.fail(id, Failure::Deadline);
        }
    }

    fn fail(&mut self, id: u64, failure: Failure) {
        let open = lock(&self.open).remove(&id);
        if let Some((_, stop)) = open {
            stop.set();
            let result = Err(failure);
            self.say(&FromAgent::Done { id, result });
        }
    }

    /// Never waits: this is the reading thread.
    fn say(&self, message: &FromAgent) {
        if let Ok(frame) = encode_message(message) {
            let _ = self.output.try_send(frame);
        }
    }
}

fn lock(open: &Open) -> MutexGuard<'_, HashMap<u64, (Instant, Stop)>> {
    open.lock().unwrap_or_else(PoisonError::into_inner)
}

fn answer(what: &What, stop: &Stop) -> (Answer, Vec<u8>) {
    match what {
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
        What::Cabling(probe) => {
            let listened = cabling::probe(probe, stop, cabling::STATE.as_ref());
            (Answer::Cabling(listened), Vec::new())
        }
    }
}

/// The bytes, then the answer. Nobody is left to tell when the channel is closed.
fn send(id: u64, result: Result<(Answer, Vec<u8>), Failure>, output: &SyncSender<Vec<u8>>) {
    let result = match result {
        Err(failure) => Err(failure),
        Ok((answer, bytes)) => {
            if !bytes.is_empty() {
                let event = Event::Sending {
                    bytes: bytes.len() as u64,
                };
                let _ = output
                    .send(encode_message(&FromAgent::Event { id, event }).unwrap_or_default());
            }
            for chunk in bytes.chunks(CHUNK) {
                let _ = output.send(encode_bytes(id, chunk).unwrap_or_default());
            }
            Ok(answer)
        }
    };
    let _ = output.send(encode_message(&FromAgent::Done { id, result }).unwrap_or_default());
}

fn message_of(panic: &(dyn Any + Send)) -> String {
    let text = panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "for no stated reason".to_owned())
}
