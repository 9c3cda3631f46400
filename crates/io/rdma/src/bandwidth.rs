//! As many messages as the way to the peer takes.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use crosstie_verbs::{Completion, CompletionBatch, CompletionQueue};

use crate::{
    clock,
    engine::{Lane, Parts},
    error::GoError,
    figures::{Figures, Progress},
    meter::{Meter, WINDOW},
    request::nanoseconds,
};

/// Completions that are polled at once.
const BATCH: u16 = 64;
/// Polls without a completion until the clock is read.
const IDLE_POLLS: u32 = 1024;
/// How long a responder looks for events at a time; `stop` is seen as late.
const LOOK: Duration = Duration::from_millis(10);

/// The initiator.
pub(crate) fn send(
    parts: &Parts,
    lanes: &mut [Lane],
    stop: &AtomicBool,
    emit: &mut dyn FnMut(Progress),
) -> Result<Figures, GoError> {
    let request = &parts.request;
    let (size, times) = (request.size, request.times);
    let started = clock::now();
    let processor = clock::processor_time();
    let begin = started + nanoseconds(times.warm_up);
    let end = begin + nanoseconds(times.measure);
    let last = end + nanoseconds(times.cool_down);
    let mut sender = Sender::new(parts, lanes);
    let mut meter = Meter::new(begin, end);
    let mut reported = started;
    let (mut heard, mut messages) = (started, 0);
    loop {
        sender.fill()?;
        let completed = sender.poll()?;
        if completed == 0 && !sender.is_time_to_look() {
            continue;
        }
        let now = clock::now();
        if completed > 0 {
            heard = now;
            messages += completed;
            meter.add(now, completed);
        } else if now - heard > nanoseconds(times.silence) {
            return Err(GoError::Silent(times.silence()));
        }
        if now - reported >= WINDOW {
            reported = now;
            emit(Progress {
                elapsed_nanoseconds: now - started,
                bytes: messages * u64::from(size),
                messages,
            });
            parts.check_events(Instant::now())?;
            if stop.load(Ordering::Relaxed) {
                break;
            }
        }
        if now >= last && meter.is_done() {
            break;
        }
    }
    sender.drain(times.silence())?;
    let processor = clock::processor_time() - processor;
    Ok(Figures::Bandwidth(meter.figures(size, processor)))
}

/// The responder: its device does everything.
pub(crate) fn stand_by(parts: &Parts, stop: &AtomicBool) -> Result<Figures, GoError> {
    while !stop.load(Ordering::Relaxed) {
        parts.check_events(Instant::now() + LOOK)?;
    }
    Ok(Figures::Responded)
}

/// Keeps every queue pair full.
struct Sender<'engine> {
    sends: &'engine CompletionQueue,
    lanes: &'engine mut [Lane],
    batch: CompletionBatch,
    depth: u64,
    list: u64,
    signal_every: u64,
    idle: u32,
}

impl<'engine> Sender<'engine> {
    fn new(parts: &'engine Parts, lanes: &'engine mut [Lane]) -> Self {
        let request = &parts.request;
        Self {
            batch: CompletionBatch::new(BATCH),
            depth: request.depth.into(),
            list: request.list.into(),
            signal_every: request.signal_every.into(),
            idle: 0,
            sends: &parts.sends,
            lanes,
        }
    }

    /// Posts whatever there is room for, on each queue pair in turn.
    #[inline]
    fn fill(&mut self) -> Result<(), GoError> {
        for lane in &mut *self.lanes {
            while lane.posted + self.list <= lane.completed + self.depth {
                lane.ring.post(&mut lane.pair)?;
                lane.posted += self.list;
            }
        }
        Ok(())
    }

    /// How many messages have completed since it was last asked.
    #[inline]
    fn poll(&mut self) -> Result<u64, GoError> {
        let completions = self.sends.poll(&mut self.batch)?;
        for completion in completions {
            let lane = lane_of(self.lanes, completion)?;
            lane.completed += self.signal_every;
        }
        Ok(completions.len() as u64 * self.signal_every)
    }

    #[inline]
    fn is_time_to_look(&mut self) -> bool {
        self.idle = (self.idle + 1) % IDLE_POLLS;
        self.idle == 0
    }

    /// Waits until all that was posted is done: the peer's memory may go after that.
    fn drain(&mut self, silence: Duration) -> Result<(), GoError> {
        for lane in &mut *self.lanes {
            // Up to one that makes a completion, which stands for those before it.
            while !lane.posted.is_multiple_of(self.signal_every) {
                lane.ring.post(&mut lane.pair)?;
                lane.posted += self.list;
            }
        }
        let mut deadline = Instant::now() + silence;
        while self.lanes.iter().any(|lane| lane.completed < lane.posted) {
            if self.poll()? > 0 {
                deadline = Instant::now() + silence;
            } else if Instant::now() >= deadline {
                return Err(GoError::Silent(silence));
            }
        }
        Ok(())
    }
}

#[inline]
fn lane_of<'lanes>(
    lanes: &'lanes mut [Lane],
    completion: &Completion,
) -> Result<&'lanes mut Lane, GoError> {
    completion.result()?;
    let place = usize::try_from(completion.identifier()).unwrap_or(usize::MAX);
    lanes
        .get_mut(place)
        .ok_or(GoError::Stranger(completion.identifier()))
}
