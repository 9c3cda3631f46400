//! A message there and one back, over and over.
//!
//! Each is a write with an immediate value, which is its number, or a send, and is seen as the completion of a receive: a
//! message whose last byte is polled for may, with relaxed ordering, not be whole.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Instant,
};

use crosstie_figures::{Histogram, MeasuredLatency, TestProgress, WINDOW_NANOSECONDS, nanoseconds};
use crosstie_verbs::{CompletionBatch, PostError, ReceiveList};

use crate::{
    clock,
    empty_notice::{EmptyNotice, LAST_NOTICE, NOTICE_IDENTIFIER},
    engine::{EngineParts, RdmaConnection, yield_if},
    error::{RdmaJoinError, RdmaRunError},
    figures::RdmaFigures,
    request::LatencyOperation,
    size_plan::SizePlan,
};

/// Receives that are posted ahead.
pub(crate) const RECEIVE_DEPTH: u32 = 64;

/// Receives are posted again when half of them are used up.
const REFILL_COUNT: u32 = RECEIVE_DEPTH / 2;

/// What a latency test posts besides its messages.
#[derive(Debug)]
pub(crate) struct LatencyWork {
    refill: ReceiveList,
    /// Receives that were used up since they were last posted again.
    used: u32,
    /// For the last message. It makes a completion, so that an end can see it arrive before it goes.
    notice: EmptyNotice,
}

impl LatencyWork {
    /// With receives posted, so that a peer may begin.
    pub(crate) fn new(
        parts: &EngineParts,
        connections: &mut [RdmaConnection],
        message: LatencyOperation,
    ) -> Result<Self, RdmaJoinError> {
        let span = match (message, parts.plans.first()) {
            (LatencyOperation::Send, Some(plan)) => {
                let target = usize::try_from(plan.layout.target(0, 0)).unwrap_or(usize::MAX);
                parts.memory.span(target, plan.size)?
            }
            // No memory of their own: a write brings its address.
            _ => parts.memory.span(0, 0)?,
        };
        let receives = |count: u32| ReceiveList::new(vec![(0, span.clone()); count as usize]);
        let mut ahead = receives(RECEIVE_DEPTH)?;
        for connection in connections {
            connection.pair.post_receive(&mut ahead)?;
        }
        Ok(Self {
            refill: receives(REFILL_COUNT)?,
            used: 0,
            notice: EmptyNotice::new(&parts.memory)?,
        })
    }
}

/// The initiator.
pub(crate) fn initiate(
    parts: &EngineParts,
    connections: &mut [RdmaConnection],
    work: &mut LatencyWork,
    stop: &AtomicBool,
    emit: &mut dyn FnMut(TestProgress),
) -> Result<RdmaFigures, RdmaRunError> {
    let times = parts.request.times;
    let size = parts.plans.first().map_or(0, |plan| u64::from(plan.size));
    let started = clock::now();
    let begin = started + nanoseconds(times.warm_up);
    let end = begin + nanoseconds(times.measure);
    let mut half_round_trips = Histogram::default();
    let mut exchange = Exchange::new(parts, connections, work);
    let (mut reported, mut messages, mut complete) = (started, 0, true);
    let mut number = 0;
    loop {
        exchange.prepare(number)?;
        let before = clock::now();
        exchange.post()?;
        exchange.receive(number, None)?;
        let now = clock::now();
        if before >= begin {
            half_round_trips.record((now - before) / 2);
        }
        number = (number + 1) % LAST_NOTICE;
        messages += 1;
        if now - reported >= WINDOW_NANOSECONDS {
            reported = now;
            emit(TestProgress {
                elapsed_nanoseconds: now - started,
                bytes: messages * size,
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
    exchange.receive(LAST_NOTICE, None)?;
    Ok(RdmaFigures::Latency(MeasuredLatency {
        half_round_trips,
        complete,
    }))
}

/// The responder: each message goes back with its number.
pub(crate) fn respond(
    parts: &EngineParts,
    connections: &mut [RdmaConnection],
    work: &mut LatencyWork,
    stop: &AtomicBool,
) -> Result<RdmaFigures, RdmaRunError> {
    let mut exchange = Exchange::new(parts, connections, work);
    let mut wanted = 0;
    loop {
        // What it answers is known before it is asked.
        exchange.prepare(wanted)?;
        match exchange.receive(wanted, Some(stop))? {
            None => break,
            Some(LAST_NOTICE) => {
                exchange.end()?;
                break;
            }
            Some(_) => exchange.post()?,
        }
        wanted = (wanted + 1) % LAST_NOTICE;
    }
    Ok(RdmaFigures::Responded)
}

struct Exchange<'engine> {
    parts: &'engine EngineParts,
    plan: SizePlan,
    connection: &'engine mut RdmaConnection,
    work: &'engine mut LatencyWork,
    batch: CompletionBatch,
    ended: bool,
}

impl<'engine> Exchange<'engine> {
    fn new(
        parts: &'engine EngineParts,
        connections: &'engine mut [RdmaConnection],
        work: &'engine mut LatencyWork,
    ) -> Self {
        Self {
            batch: CompletionBatch::new(16),
            ended: false,
            parts,
            // A latency test has one of each.
            plan: parts.plans[0],
            connection: &mut connections[0],
            work,
        }
    }

    /// Does whatever can be done before a message is posted, so that none of it is measured.
    fn prepare(&mut self, number: u32) -> Result<(), RdmaRunError> {
        if self.work.used >= REFILL_COUNT {
            self.work.used -= REFILL_COUNT;
            let refill = &mut self.work.refill;
            self.connection.pair.post_receive(refill)?;
        }
        self.wait_for_room()?;
        // A send has no number, and none is sent with it.
        self.connection
            .ring
            .upcoming()
            .first()
            .set_immediate(number);
        Ok(())
    }

    fn post(&mut self) -> Result<(), PostError> {
        self.connection.posted += 1;
        self.connection.ring.post(&mut self.connection.pair, 1)
    }

    /// Sends the last message, and sees it arrive.
    fn end(&mut self) -> Result<(), RdmaRunError> {
        self.wait_for_room()?;
        self.work
            .notice
            .post(&mut self.connection.pair, LAST_NOTICE, true)?;
        let silence = self.parts.request.times.silence();
        let deadline = Instant::now() + silence;
        while !self.ended {
            self.take_sends()?;
            if Instant::now() >= deadline {
                return Err(RdmaRunError::Silent(silence));
            }
        }
        Ok(())
    }

    /// Completions of our own messages matter only when there is no room for another.
    fn wait_for_room(&mut self) -> Result<(), RdmaRunError> {
        let depth = u64::from(self.plan.depth);
        if self.connection.posted < self.connection.completed + depth {
            return Ok(());
        }
        let silence = self.parts.request.times.silence();
        let deadline = Instant::now() + silence;
        while self.connection.posted >= self.connection.completed + depth {
            self.take_sends()?;
            if Instant::now() >= deadline {
                return Err(RdmaRunError::Silent(silence));
            }
        }
        Ok(())
    }

    fn take_sends(&mut self) -> Result<(), RdmaRunError> {
        for completion in self.parts.sends.poll(&mut self.batch)? {
            completion.result()?;
            if completion.identifier() == NOTICE_IDENTIFIER {
                self.ended = true;
            } else {
                self.connection.completed += u64::from(self.plan.signal_every);
            }
        }
        Ok(())
    }

    /// The next message's number, or `None` when `stop` is set.
    fn receive(
        &mut self,
        wanted: u32,
        stop: Option<&AtomicBool>,
    ) -> Result<Option<u32>, RdmaRunError> {
        let times = self.parts.request.times;
        let mut idle = 0_u32;
        let mut deadline = None;
        loop {
            let got = self.parts.receives.poll(&mut self.batch)?;
            if let [completion, others @ ..] = got {
                completion.result()?;
                // A send comes in its order or not at all.
                let number = completion.immediate().unwrap_or(wanted);
                if !others.is_empty() || number != wanted && number != LAST_NOTICE {
                    return Err(RdmaRunError::Sequence {
                        wanted,
                        got: number,
                    });
                }
                self.work.used += 1;
                return Ok(Some(number));
            }
            yield_if(self.parts.yields);
            idle = idle.wrapping_add(1);
            if idle.is_multiple_of(self.parts.polls_per_clock_read()) {
                // A message that failed explains why none comes back.
                self.take_sends()?;
                if stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
                    return Ok(None);
                }
                let now = clock::now();
                if now > *deadline.get_or_insert(now + nanoseconds(times.silence)) {
                    return Err(RdmaRunError::Silent(times.silence()));
                }
            }
        }
    }
}
