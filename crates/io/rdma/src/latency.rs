//! A message there and one back, over and over.
//!
//! Each is a write with an immediate value, which is its number, and is seen as the completion of a receive: a message
//! whose last byte is polled for may, with relaxed ordering, not be whole.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Instant,
};

use crosstie_verbs::{
    CompletionBatch, Endpoint, Operation, PostError, ReceiveList, SendList, SendRequest,
};

use crate::{
    clock,
    engine::{Lane, Parts, RECEIVES},
    error::{GoError, JoinError},
    figures::{Figures, Latency, Progress},
    histogram::Histogram,
    meter::WINDOW,
    request::nanoseconds,
};

/// The number of the message after which there is none.
const LAST: u32 = u32::MAX;
/// By which its own completion is told from others.
const FAREWELL: u64 = u64::MAX;
/// Receives are posted again when half of them are used up.
const REFILL: u32 = RECEIVES / 2;
/// Polls without a completion until the clock is read.
const IDLE_POLLS: u32 = 256;

/// What a latency test posts besides its messages.
#[derive(Debug)]
pub(crate) struct LatencyWork {
    refill: ReceiveList,
    /// Receives that were used up since they were last posted again.
    used: u32,
    /// The last message. It makes a completion, so that an end can see it arrive before it goes.
    farewell: SendList,
}

impl LatencyWork {
    /// With receives posted, so that a peer may begin.
    pub(crate) fn new(
        parts: &Parts,
        lanes: &mut [Lane],
        peers: &[Endpoint],
    ) -> Result<Self, JoinError> {
        let empty = parts.memory.span(0, 0)?;
        // No memory of their own: a write brings its address.
        let receives = |count: u32| ReceiveList::new(vec![(0, empty.clone()); count as usize]);
        let mut ahead = receives(RECEIVES)?;
        for lane in lanes {
            lane.pair.post_receive(&mut ahead)?;
        }
        let farewell = peers.iter().take(1).map(|peer| SendRequest {
            identifier: FAREWELL,
            local: empty.clone(),
            operation: Operation::WriteWithImmediate {
                to: peer.memory,
                offset: 0,
                immediate: LAST,
            },
            signalled: true,
            inline: false,
        });
        Ok(Self {
            refill: receives(REFILL)?,
            used: 0,
            farewell: SendList::new(farewell.collect())?,
        })
    }
}

/// The initiator.
pub(crate) fn ask(
    parts: &Parts,
    lanes: &mut [Lane],
    work: &mut LatencyWork,
    stop: &AtomicBool,
    emit: &mut dyn FnMut(Progress),
) -> Result<Figures, GoError> {
    let times = parts.request.times;
    let started = clock::now();
    let begin = started + nanoseconds(times.warm_up);
    let end = begin + nanoseconds(times.measure);
    let mut half_round_trips = Histogram::default();
    let mut exchange = Exchange::new(parts, lanes, work);
    let (mut reported, mut messages, mut complete) = (started, 0, true);
    let mut number = 0;
    loop {
        let before = clock::now();
        exchange.post(number)?;
        exchange.receive(number, None)?;
        let now = clock::now();
        if before >= begin {
            half_round_trips.record((now - before) / 2);
        }
        number = (number + 1) % LAST;
        messages += 1;
        if now - reported >= WINDOW {
            reported = now;
            emit(Progress {
                elapsed_nanoseconds: now - started,
                bytes: messages * u64::from(parts.request.size),
                messages,
            });
            parts.check_events(Instant::now())?;
            complete = !stop.load(Ordering::Relaxed);
        }
        if now >= end || !complete {
            break;
        }
    }
    exchange.end()?;
    exchange.receive(LAST, None)?;
    Ok(Figures::Latency(Latency {
        half_round_trips,
        complete,
    }))
}

/// The responder: each message goes back with its number.
pub(crate) fn answer(
    parts: &Parts,
    lanes: &mut [Lane],
    work: &mut LatencyWork,
    stop: &AtomicBool,
) -> Result<Figures, GoError> {
    let mut exchange = Exchange::new(parts, lanes, work);
    let mut wanted = 0;
    while let Some(number) = exchange.receive(wanted, Some(stop))? {
        if number == LAST {
            exchange.end()?;
            break;
        }
        exchange.post(number)?;
        wanted = (number + 1) % LAST;
    }
    Ok(Figures::Responded)
}

struct Exchange<'engine> {
    parts: &'engine Parts,
    lane: &'engine mut Lane,
    work: &'engine mut LatencyWork,
    batch: CompletionBatch,
    ended: bool,
}

impl<'engine> Exchange<'engine> {
    fn new(
        parts: &'engine Parts,
        lanes: &'engine mut [Lane],
        work: &'engine mut LatencyWork,
    ) -> Self {
        Self {
            batch: CompletionBatch::new(16),
            ended: false,
            parts,
            // A latency test has one.
            lane: &mut lanes[0],
            work,
        }
    }

    fn post(&mut self, number: u32) -> Result<(), GoError> {
        self.lane.ring.upcoming().first().set_immediate(number);
        self.wait_for_room()?;
        self.lane.ring.post(&mut self.lane.pair, 1)?;
        self.lane.posted += 1;
        Ok(())
    }

    /// Sends the last message, and sees it arrive.
    fn end(&mut self) -> Result<(), GoError> {
        self.wait_for_room()?;
        self.lane.pair.post_send(&mut self.work.farewell)?;
        let silence = self.parts.request.times.silence();
        let deadline = Instant::now() + silence;
        while !self.ended {
            self.take_sends()?;
            if Instant::now() >= deadline {
                return Err(GoError::Silent(silence));
            }
        }
        Ok(())
    }

    /// Completions of our own messages matter only when there is no room for another.
    fn wait_for_room(&mut self) -> Result<(), GoError> {
        let depth = u64::from(self.parts.request.depth);
        if self.lane.posted < self.lane.completed + depth {
            return Ok(());
        }
        let silence = self.parts.request.times.silence();
        let deadline = Instant::now() + silence;
        while self.lane.posted >= self.lane.completed + depth {
            self.take_sends()?;
            if Instant::now() >= deadline {
                return Err(GoError::Silent(silence));
            }
        }
        Ok(())
    }

    fn take_sends(&mut self) -> Result<(), GoError> {
        for completion in self.parts.sends.poll(&mut self.batch)? {
            completion.result()?;
            if completion.identifier() == FAREWELL {
                self.ended = true;
            } else {
                self.lane.completed += u64::from(self.parts.request.signal_every);
            }
        }
        Ok(())
    }

    /// The next message's number, or `None` when `stop` is set.
    fn receive(&mut self, wanted: u32, stop: Option<&AtomicBool>) -> Result<Option<u32>, GoError> {
        let times = self.parts.request.times;
        let mut idle = 0_u32;
        let mut deadline = None;
        loop {
            let got = self.parts.receives.poll(&mut self.batch)?;
            if let [completion, others @ ..] = got {
                completion.result()?;
                let number = completion.immediate().unwrap_or(LAST);
                if !others.is_empty() || number != wanted && number != LAST {
                    return Err(GoError::Sequence {
                        wanted,
                        got: number,
                    });
                }
                self.refill()?;
                return Ok(Some(number));
            }
            idle = idle.wrapping_add(1);
            if idle.is_multiple_of(IDLE_POLLS) {
                // A message that failed explains why none comes back.
                self.take_sends()?;
                if stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
                    return Ok(None);
                }
                let now = clock::now();
                if now > *deadline.get_or_insert(now + nanoseconds(times.silence)) {
                    return Err(GoError::Silent(times.silence()));
                }
            }
        }
    }

    fn refill(&mut self) -> Result<(), PostError> {
        self.work.used += 1;
        if self.work.used == REFILL {
            self.work.used = 0;
            self.lane.pair.post_receive(&mut self.work.refill)?;
        }
        Ok(())
    }
}
