//! What waits to be written to the controller, in three lanes.
//!
//! Answers go first, and nothing can fill their lane up but answers: one a call in flight. Events are next: one a call,
//! the latest, five a second. Streams are last: lossless, and no longer than the receiver has granted.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use crosstie_reach::protocol::{
    CallFailure, FromAgent, MAX_EVENT, STREAM_WINDOW, encode_bytes, encode_message,
};

use crate::context::CallStopped;

/// Between two events of one call.
const EVENT_INTERVAL: Duration = Duration::from_millis(200);

/// Bytes of a stream that travel in one frame.
const STREAM_CHUNK_BYTES: usize = 64 << 10;

/// A look at whether the wait for credit still makes sense, should nobody tell.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// One call's part of the output. The controller's number of it may be another call's by now; this one is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CallOutputId(u64);

#[derive(Default)]
pub(crate) struct AgentOutput {
    lanes: Mutex<Lanes>,
    /// Something can be written, or was.
    changed: Condvar,
}

#[derive(Default)]
struct Lanes {
    last: u64,
    answers: VecDeque<Vec<u8>>,
    /// One is enough, however often was asked.
    pong: bool,
    calls: BTreeMap<CallOutputId, Lane>,
    /// Whose stream was served last.
    served: Option<CallOutputId>,
    /// Answers that are in the lane or being written.
    unwritten: usize,
    closed: bool,
}

struct Lane {
    id: u64,
    event: Option<Vec<u8>>,
    next_event: Instant,
    credit: u64,
    chunks: VecDeque<Vec<u8>>,
    /// A chunk of it is being written.
    writing: bool,
}

/// What is to be written next.
pub(crate) enum NextFrame {
    Frame(Vec<u8>),
    /// A frame that somebody counts.
    Answer(Vec<u8>),
    Chunk(CallOutputId, Vec<u8>),
    Closed,
}

impl AgentOutput {
    pub(crate) fn open(&self, id: u64) -> CallOutputId {
        let mut lanes = self.lanes();
        lanes.last += 1;
        let call = CallOutputId(lanes.last);
        let lane = Lane {
            id,
            event: None,
            next_event: Instant::now(),
            credit: STREAM_WINDOW,
            chunks: VecDeque::new(),
            writing: false,
        };
        lanes.calls.insert(call, lane);
        call
    }

    pub(crate) fn pong(&self) {
        self.lanes().pong = true;
        self.changed.notify_all();
    }

    pub(crate) fn event(&self, call: CallOutputId, event: Vec<u8>) {
        if event.len() > MAX_EVENT {
            return;
        }
        if let Some(lane) = self.lanes().calls.get_mut(&call) {
            lane.event = Some(event);
            self.changed.notify_all();
        }
    }

    pub(crate) fn grant(&self, call: CallOutputId, bytes: u64) {
        if let Some(lane) = self.lanes().calls.get_mut(&call) {
            lane.credit = lane.credit.saturating_add(bytes);
            self.changed.notify_all();
        }
    }

    pub(crate) fn stream(&self, call: CallOutputId, mut bytes: &[u8]) -> Result<(), CallStopped> {
        let mut lanes = self.lanes();
        while !bytes.is_empty() {
            let closed = lanes.closed;
            let lane = lanes.calls.get_mut(&call).filter(|_| !closed);
            let lane = lane.ok_or(CallStopped)?;
            let credit = usize::try_from(lane.credit).unwrap_or(usize::MAX);
            let length = bytes.len().min(STREAM_CHUNK_BYTES).min(credit);
            if length == 0 {
                lanes = self.wait(lanes, POLL_INTERVAL);
                continue;
            }
            let (chunk, rest) = bytes.split_at(length);
            lane.credit -= length as u64;
            lane.chunks.push_back(chunk.to_vec());
            bytes = rest;
            self.changed.notify_all();
        }
        Ok(())
    }

    /// Waits until the call's stream is written, or is not wanted any more.
    pub(crate) fn flush(&self, call: CallOutputId) {
        let mut lanes = self.lanes();
        while !lanes.closed
            && lanes
                .calls
                .get(&call)
                .is_some_and(|lane| lane.writing || !lane.chunks.is_empty())
        {
            lanes = self.wait(lanes, POLL_INTERVAL);
        }
    }

    /// The last word on a call; what it has not sent yet is dropped.
    pub(crate) fn answer(&self, call: CallOutputId, result: Result<&[u8], CallFailure>) {
        let mut lanes = self.lanes();
        if let Some(lane) = lanes.calls.remove(&call) {
            self.queue_last(&mut lanes, lane.id, result);
        }
    }

    /// Of a call that was never opened.
    pub(crate) fn refuse(&self, id: u64, failure: CallFailure) {
        self.queue_last(&mut self.lanes(), id, Err(failure));
    }

    fn queue_last(&self, lanes: &mut Lanes, id: u64, result: Result<&[u8], CallFailure>) {
        let failed = |failure| encode_message(&FromAgent::Failed { id, failure }, &[]);
        let frame = match result {
            Ok(answer) => encode_message(&FromAgent::Answer { id }, answer)
                .or_else(|_| failed(CallFailure::TooLong)),
            Err(failure) => failed(failure),
        };
        if let Ok(frame) = frame {
            lanes.answers.push_back(frame);
            lanes.unwritten += 1;
        }
        self.changed.notify_all();
    }

    /// Answers that the controller has not taken yet.
    pub(crate) fn unwritten(&self) -> usize {
        self.lanes().unwritten
    }

    pub(crate) fn close(&self) {
        self.lanes().closed = true;
        self.changed.notify_all();
    }

    /// Waits until there is something to write.
    pub(crate) fn next(&self) -> NextFrame {
        let mut lanes = self.lanes();
        loop {
            let now = Instant::now();
            if let Some(next) = lanes.next(now) {
                return next;
            }
            let soon = lanes.next_event().unwrap_or(now + POLL_INTERVAL);
            lanes = self.wait(lanes, soon.saturating_duration_since(now));
        }
    }

    pub(crate) fn written(&self, next: &NextFrame) {
        let mut lanes = self.lanes();
        match next {
            NextFrame::Answer(_) => lanes.unwritten = lanes.unwritten.saturating_sub(1),
            NextFrame::Chunk(call, _) => {
                if let Some(lane) = lanes.calls.get_mut(call) {
                    lane.writing = false;
                }
            }
            NextFrame::Frame(_) | NextFrame::Closed => {}
        }
        self.changed.notify_all();
    }

    /// Bytes in all lanes.
    #[cfg(test)]
    pub(crate) fn queued(&self) -> usize {
        let lanes = self.lanes();
        let answers: usize = lanes.answers.iter().map(Vec::len).sum();
        let calls = lanes.calls.values().map(|lane| {
            let chunks: usize = lane.chunks.iter().map(Vec::len).sum();
            chunks + lane.event.as_ref().map_or(0, Vec::len)
        });
        answers + calls.sum::<usize>()
    }

    fn wait<'a>(&self, lanes: MutexGuard<'a, Lanes>, limit: Duration) -> MutexGuard<'a, Lanes> {
        let waited = self.changed.wait_timeout(lanes, limit);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    fn lanes(&self) -> MutexGuard<'_, Lanes> {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lanes {
    fn next(&mut self, now: Instant) -> Option<NextFrame> {
        if self.closed {
            return Some(NextFrame::Closed);
        }
        if std::mem::take(&mut self.pong)
            && let Ok(frame) = encode_message(&FromAgent::Pong, &[])
        {
            return Some(NextFrame::Frame(frame));
        }
        if let Some(frame) = self.answers.pop_front() {
            return Some(NextFrame::Answer(frame));
        }
        let mut due = self.calls.values_mut();
        let due = due.find(|lane| lane.event.is_some() && lane.next_event <= now);
        if let Some(lane) = due
            && let Some(event) = lane.event.take()
            && let Ok(frame) = encode_message(&FromAgent::Event { id: lane.id }, &event)
        {
            lane.next_event = now + EVENT_INTERVAL;
            return Some(NextFrame::Frame(frame));
        }
        self.next_chunk()
    }

    /// Streams take turns.
    fn next_chunk(&mut self) -> Option<NextFrame> {
        let waiting = self
            .calls
            .iter()
            .filter(|(_, lane)| !lane.chunks.is_empty());
        let mut waiting = waiting.map(|(call, _)| *call);
        let first = waiting.clone().next()?;
        let call = waiting
            .find(|call| Some(*call) > self.served)
            .unwrap_or(first);
        self.served = Some(call);
        let lane = self.calls.get_mut(&call)?;
        let chunk = lane.chunks.pop_front()?;
        lane.writing = true;
        Some(NextFrame::Chunk(call, encode_bytes(lane.id, &chunk).ok()?))
    }

    fn next_event(&self) -> Option<Instant> {
        let waiting = self.calls.values().filter(|lane| lane.event.is_some());
        waiting.map(|lane| lane.next_event).min()
    }
}
