//! As many messages as the way to the peer takes.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use crosstie_figures::{
    BandwidthMeter, MeasuredBandwidth, TestProgress, WINDOW_NANOSECONDS, nanoseconds,
};
use crosstie_verbs::{CompletionBatch, CompletionQueue, all_succeeded};

use crate::{
    clock,
    engine::{EngineParts, RdmaConnection, yield_if},
    error::RdmaRunError,
    figures::RdmaFigures,
    receiver::ReceiveQueues,
    request::RdmaRole,
    size_plan::SizePlan,
};

/// Completions that are polled at once.
const POLL_BATCH: u16 = 64;
/// The clock is read after so many polls, or so many bytes: reading it costs as much as posting ten short messages.
const POLLS_PER_CLOCK_READ: u32 = 256;
const BYTES_PER_CLOCK_READ: u64 = 1024 * 1024;
/// How long a responder looks for events at a time; `stop` is seen as late.
const EVENT_POLL_INTERVAL: Duration = Duration::from_millis(10);

/// An end that sends: each size in turn.
pub(crate) fn initiate(
    parts: &EngineParts,
    connections: &mut [RdmaConnection],
    receiver: &mut Option<ReceiveQueues>,
    stop: &AtomicBool,
    emit: &mut dyn FnMut(TestProgress),
) -> Result<RdmaFigures, RdmaRunError> {
    if let Some(receiver) = receiver {
        receiver.wait_for_peer_ready(parts, connections, stop)?;
    }
    // Where only this end sends, the other has nothing to say until the end.
    let takes_messages =
        parts.request.role == RdmaRole::Both && parts.request.has_working_responder();
    let mut all = Vec::with_capacity(parts.plans.len());
    for (index, plan) in parts.plans.iter().enumerate() {
        if index > 0 {
            for (pair, connection) in connections.iter_mut().enumerate() {
                connection.prepare(parts, plan, pair)?;
            }
        }
        let receiver = receiver.as_mut().filter(|_| takes_messages);
        let figures = one_size(parts, plan, connections, receiver, stop, emit)?;
        let was_stopped = !figures.complete;
        all.push(figures);
        if was_stopped {
            break;
        }
    }
    if let Some(receiver) = receiver {
        receiver.part(parts, connections, stop)?;
    }
    Ok(RdmaFigures::Bandwidth(all))
}

fn one_size(
    parts: &EngineParts,
    plan: &SizePlan,
    connections: &mut [RdmaConnection],
    mut receiver: Option<&mut ReceiveQueues>,
    stop: &AtomicBool,
    emit: &mut dyn FnMut(TestProgress),
) -> Result<MeasuredBandwidth, RdmaRunError> {
    let (size, times) = (plan.size, parts.request.times);
    let started = clock::now();
    let begin = started + nanoseconds(times.warm_up);
    let end = begin + nanoseconds(times.measure);
    let last = end + nanoseconds(times.cool_down);
    let mut sender = Sender::new(parts, plan, connections);
    let posted_before = sender.posted();
    let mut meter = BandwidthMeter::new(started, begin, end, clock::processor_time());
    let mut reported = started;
    let (mut heard, mut messages) = (started, 0);
    loop {
        sender.fill()?;
        sender.poll()?;
        if let Some(receiver) = &mut receiver {
            receiver.poll(parts, sender.connections)?;
        }
        if !sender.clock_is_due() {
            continue;
        }
        let completed = sender.take_uncounted();
        let now = clock::now();
        if completed > 0 {
            heard = now;
            messages += completed;
            meter.add(now, completed * u64::from(size), clock::processor_time);
        } else if now - heard > nanoseconds(times.silence) {
            return Err(RdmaRunError::Silent(times.silence()));
        } else {
            yield_if(parts.yields);
        }
        if now - reported >= WINDOW_NANOSECONDS {
            reported = now;
            emit(TestProgress {
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
    let mut figures = meter.figures(size, plan.depth, clock::processor_time);
    sender.drain(times.silence(), receiver)?;
    figures.whole_bytes = (sender.posted() - posted_before) * u64::from(size);
    Ok(figures)
}

/// The responder: its device does everything, unless messages use up receives.
pub(crate) fn respond(
    parts: &EngineParts,
    connections: &mut [RdmaConnection],
    receiver: &mut Option<ReceiveQueues>,
    stop: &AtomicBool,
) -> Result<RdmaFigures, RdmaRunError> {
    if let Some(receiver) = receiver {
        return receiver.respond(parts, connections, stop);
    }
    while !stop.load(Ordering::Relaxed) {
        parts.check_events(Instant::now() + EVENT_POLL_INTERVAL)?;
    }
    Ok(RdmaFigures::Responded)
}

/// Keeps every queue pair full.
struct Sender<'engine> {
    parts: &'engine EngineParts,
    sends: &'engine CompletionQueue,
    connections: &'engine mut [RdmaConnection],
    batch: CompletionBatch,
    depth: u64,
    list: u64,
    list_shift: u32,
    signal_every: u64,
    /// Messages that have completed since the clock was last read, how many of them it is read after, and polls.
    uncounted: u64,
    messages_per_clock_read: u64,
    polls: u32,
}

impl<'engine> Sender<'engine> {
    fn new(
        parts: &'engine EngineParts,
        plan: &SizePlan,
        connections: &'engine mut [RdmaConnection],
    ) -> Self {
        Self {
            parts,
            batch: CompletionBatch::new(POLL_BATCH),
            depth: plan.depth.into(),
            list: plan.list.into(),
            list_shift: plan.list.trailing_zeros(),
            signal_every: plan.signal_every.into(),
            uncounted: 0,
            messages_per_clock_read: BYTES_PER_CLOCK_READ / u64::from(plan.size),
            polls: 0,
            sends: &parts.sends,
            connections,
        }
    }

    /// Posts whatever there is room for, on each queue pair in turn.
    #[inline]
    fn fill(&mut self) -> Result<(), RdmaRunError> {
        for connection in &mut *self.connections {
            let room = connection.completed + self.depth - connection.posted;
            // A list's length is a power of two, so this divides, and much faster.
            let lists = room >> self.list_shift;
            connection.posted += lists << self.list_shift;
            // At most the depth, which is smaller than any usize.
            let lists = usize::try_from(lists).unwrap_or(usize::MAX);
            connection.ring.post(&mut connection.pair, lists)?;
        }
        Ok(())
    }

    #[inline]
    fn poll(&mut self) -> Result<(), RdmaRunError> {
        let completions = self.sends.poll(&mut self.batch)?;
        if completions.is_empty() {
            return Ok(());
        }
        let count = completions.len() as u64 * self.signal_every;
        self.uncounted += count;
        if let [only] = &mut *self.connections
            && all_succeeded(completions)
        {
            only.completed += count;
            return Ok(());
        }
        for completion in completions {
            completion.result()?;
            credit(self.connections, completion.identifier(), self.signal_every)?;
        }
        Ok(())
    }

    #[inline]
    fn clock_is_due(&mut self) -> bool {
        self.polls += 1;
        let due =
            self.uncounted > self.messages_per_clock_read || self.polls == POLLS_PER_CLOCK_READ;
        if due {
            self.polls = 0;
        }
        due
    }

    fn posted(&self) -> u64 {
        self.connections.iter().map(|one| one.posted).sum()
    }

    /// How many messages have completed since it was last asked.
    #[inline]
    fn take_uncounted(&mut self) -> u64 {
        std::mem::take(&mut self.uncounted)
    }

    /// Waits until all that was posted is done: the peer's memory may go after that.
    fn drain(
        &mut self,
        silence: Duration,
        mut receiver: Option<&mut ReceiveQueues>,
    ) -> Result<(), RdmaRunError> {
        for connection in &mut *self.connections {
            // Up to one that makes a completion, which stands for those before it.
            while !connection.posted.is_multiple_of(self.signal_every) {
                connection.ring.post(&mut connection.pair, 1)?;
                connection.posted += self.list;
            }
        }
        let mut deadline = Instant::now() + silence;
        while self
            .connections
            .iter()
            .any(|connection| connection.completed < connection.posted)
        {
            self.poll()?;
            if let Some(receiver) = &mut receiver {
                receiver.poll(self.parts, self.connections)?;
            }
            if self.take_uncounted() > 0 {
                deadline = Instant::now() + silence;
            } else if Instant::now() >= deadline {
                return Err(RdmaRunError::Silent(silence));
            } else {
                yield_if(self.parts.yields);
            }
        }
        Ok(())
    }
}

/// So many messages of a queue pair have arrived.
#[inline]
fn credit(
    connections: &mut [RdmaConnection],
    identifier: u64,
    count: u64,
) -> Result<(), RdmaRunError> {
    let place = usize::try_from(identifier).unwrap_or(usize::MAX);
    let connection = connections.get_mut(place);
    let connection = connection.ok_or(RdmaRunError::UnknownQueuePair(identifier))?;
    connection.completed += count;
    Ok(())
}
