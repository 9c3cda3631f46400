//! Every byte of every message is looked at where it came to.
//!
//! Rounds, each begun and ended by notices on the first queue pair: the initiator says which size comes; the responder makes
//! ready and says so; messages are moved; the initiator says so; the responder looks, and says how many bytes are wrong. What was
//! read, the initiator looks at itself.

mod pattern;

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Instant,
};

use crosstie_figures::{TestProgress, WINDOW_NANOSECONDS, nanoseconds};
use crosstie_verbs::{CompletionBatch, OutOfRange, ReceiveList};

use crate::{
    clock,
    empty_notice::{EmptyNotice, LAST_NOTICE, NOTICE_IDENTIFIER, READY},
    engine::{EngineParts, RdmaConnection, yield_if},
    error::{PrepareMessagesError, RdmaJoinError, RdmaRunError},
    figures::{RdmaFigures, VerifiedMessages},
    request::BandwidthOperation,
    size_plan::SizePlan,
};

/// Receives of a queue pair besides one for each message of a round.
pub(crate) const SPARE_RECEIVES: u32 = 2;
/// The most wrong bytes that a notice can tell of.
const MOST_WRONG: u32 = READY - 1;

/// What the ends tell each other with.
#[derive(Debug)]
pub(crate) struct VerifyWork {
    notice: EmptyNotice,
    /// Of one notice. There is one ahead, always: what comes next takes the receive that was posted first.
    receive: ReceiveList,
}

impl VerifyWork {
    pub(crate) fn new(
        parts: &EngineParts,
        connections: &mut [RdmaConnection],
    ) -> Result<Self, RdmaJoinError> {
        let empty = parts.memory.span(0, 0)?;
        let mut receive = ReceiveList::new(vec![(NOTICE_IDENTIFIER, empty)])?;
        if let Some(first) = connections.first_mut() {
            first.pair.post_receive(&mut receive)?;
        }
        Ok(Self {
            notice: EmptyNotice::new(&parts.memory)?,
            receive,
        })
    }
}

pub(crate) fn initiate(
    parts: &EngineParts,
    connections: &mut [RdmaConnection],
    work: &mut VerifyWork,
    transfer: BandwidthOperation,
    stop: &AtomicBool,
    emit: &mut dyn FnMut(TestProgress),
) -> Result<RdmaFigures, RdmaRunError> {
    let mut rounds = Rounds::new(parts, connections, work, transfer);
    let mut all = Vec::with_capacity(parts.plans.len());
    let (started, mut reported) = (clock::now(), clock::now());
    let (mut bytes, mut messages) = (0, 0);
    for (index, plan) in (0..).zip(&parts.plans) {
        let mut verified = VerifiedMessages {
            size: plan.size,
            messages: 0,
            bytes: 0,
            wrong_bytes: 0,
        };
        rounds.use_size(plan)?;
        let end = clock::now() + nanoseconds(parts.request.times.measure);
        loop {
            verified.wrong_bytes += rounds.initiate(index, plan)?;
            let count = rounds.messages_of(plan);
            verified.messages += count;
            verified.bytes += count * u64::from(plan.size);
            let now = clock::now();
            if now - reported >= WINDOW_NANOSECONDS {
                reported = now;
                emit(TestProgress {
                    elapsed_nanoseconds: now - started,
                    bytes: bytes + verified.bytes,
                    messages: messages + verified.messages,
                });
                parts.check_events(Instant::now())?;
            }
            if now >= end || stop.load(Ordering::Relaxed) {
                break;
            }
        }
        bytes += verified.bytes;
        messages += verified.messages;
        all.push(verified);
    }
    rounds.say(LAST_NOTICE)?;
    rounds.wait(None, |rounds| rounds.unconfirmed == 0)?;
    Ok(RdmaFigures::Verified(all))
}

pub(crate) fn respond(
    parts: &EngineParts,
    connections: &mut [RdmaConnection],
    work: &mut VerifyWork,
    transfer: BandwidthOperation,
    stop: &AtomicBool,
) -> Result<RdmaFigures, RdmaRunError> {
    let mut rounds = Rounds::new(parts, connections, work, transfer);
    loop {
        if !rounds.wait(Some(stop), |rounds| rounds.heard.is_some())? {
            break;
        }
        let number = rounds.heard.take().unwrap_or(LAST_NOTICE);
        if number == LAST_NOTICE {
            break;
        }
        let plan = parts.plans.get(number as usize);
        let plan = plan.ok_or(RdmaRunError::Sequence {
            wanted: 0,
            got: number,
        })?;
        rounds.respond(plan)?;
    }
    Ok(RdmaFigures::Responded)
}

struct Rounds<'engine> {
    parts: &'engine EngineParts,
    connections: &'engine mut [RdmaConnection],
    work: &'engine mut VerifyWork,
    transfer: BandwidthOperation,
    batch: CompletionBatch,
    /// The number of the round's first message.
    first: u64,
    /// Completions of messages in this round.
    sent: u64,
    received: u64,
    /// Notices whose arrival is not known yet.
    unconfirmed: u32,
    heard: Option<u32>,
}

impl<'engine> Rounds<'engine> {
    fn new(
        parts: &'engine EngineParts,
        connections: &'engine mut [RdmaConnection],
        work: &'engine mut VerifyWork,
        transfer: BandwidthOperation,
    ) -> Self {
        Self {
            parts,
            connections,
            work,
            transfer,
            batch: CompletionBatch::new(16),
            first: 0,
            sent: 0,
            received: 0,
            unconfirmed: 0,
            heard: None,
        }
    }

    fn use_size(&mut self, plan: &SizePlan) -> Result<(), RdmaRunError> {
        for (pair, connection) in self.connections.iter_mut().enumerate() {
            connection.prepare(self.parts, plan, pair)?;
        }
        Ok(())
    }

    /// Messages of a round.
    fn messages_of(&self, plan: &SizePlan) -> u64 {
        u64::from(plan.layout.slots()) * self.connections.len() as u64
    }

    /// One round; wrong bytes in it.
    fn initiate(&mut self, index: u32, plan: &SizePlan) -> Result<u64, RdmaRunError> {
        self.ask(index)?;
        if self.transfer != BandwidthOperation::Read {
            self.fill(plan, true)?;
        }
        self.sent = 0;
        for connection in &mut *self.connections {
            let lists = plan.layout.slots() as usize;
            connection.ring.post(&mut connection.pair, lists)?;
        }
        let count = self.messages_of(plan);
        self.wait(None, |rounds| rounds.sent == count)?;
        let mut wrong = 0;
        if self.transfer == BandwidthOperation::Read {
            wrong = self.count_wrong(plan, true)?;
        }
        wrong += u64::from(self.ask(READY)?);
        self.first += count;
        Ok(wrong)
    }

    /// The responder's part of a round, whose size it was told.
    fn respond(&mut self, plan: &SizePlan) -> Result<(), RdmaRunError> {
        let count = self.messages_of(plan);
        self.received = 0;
        match self.transfer {
            BandwidthOperation::Write => {}
            BandwidthOperation::Read => self.fill(plan, false)?,
            BandwidthOperation::Send => self.post_receives(plan)?,
        }
        self.expect_notice()?;
        self.say(READY)?;
        let is_send = self.transfer == BandwidthOperation::Send;
        self.wait(None, |rounds| {
            rounds.heard.is_some() && (!is_send || rounds.received == count)
        })?;
        self.heard = None;
        let wrong = match self.transfer {
            BandwidthOperation::Read => 0,
            BandwidthOperation::Write | BandwidthOperation::Send => {
                self.count_wrong(plan, false)?
            }
        };
        self.expect_notice()?;
        self.say(u32::try_from(wrong).unwrap_or(MOST_WRONG).min(MOST_WRONG))?;
        self.first += count;
        Ok(())
    }

    fn fill(&self, plan: &SizePlan, sources: bool) -> Result<(), RdmaRunError> {
        self.for_messages(plan, sources, |place, message| {
            pattern::fill(&self.parts.memory, place, plan.size, message)
        })
    }

    fn count_wrong(&self, plan: &SizePlan, sources: bool) -> Result<u64, RdmaRunError> {
        let mut wrong = 0;
        self.for_messages(plan, sources, |place, message| {
            wrong += pattern::count_wrong(&self.parts.memory, place, plan.size, message)?;
            Ok(())
        })?;
        Ok(wrong)
    }

    /// Each message of the round: its place, and its number.
    fn for_messages(
        &self,
        plan: &SizePlan,
        sources: bool,
        mut work: impl FnMut(u64, u64) -> Result<(), OutOfRange>,
    ) -> Result<(), RdmaRunError> {
        let mut message = self.first;
        for pair in 0..self.connections.len() {
            for slot in 0..plan.layout.slots() {
                let place = if sources {
                    plan.layout.source(pair, slot)
                } else {
                    plan.layout.target(pair, slot)
                };
                work(place, message).map_err(PrepareMessagesError::from)?;
                message += 1;
            }
        }
        Ok(())
    }

    fn post_receives(&mut self, plan: &SizePlan) -> Result<(), RdmaRunError> {
        for (pair, connection) in self.connections.iter_mut().enumerate() {
            let spans = (0..plan.layout.slots()).map(|slot| {
                let place = plan.layout.target(pair, slot);
                let place = usize::try_from(place).unwrap_or(usize::MAX);
                Ok((pair as u64, self.parts.memory.span(place, plan.size)?))
            });
            let spans = spans.collect::<Result<Vec<_>, PrepareMessagesError>>()?;
            let mut list = ReceiveList::new(spans).map_err(PrepareMessagesError::from)?;
            connection.pair.post_receive(&mut list)?;
        }
        Ok(())
    }

    /// Posts a receive for the next notice.
    fn expect_notice(&mut self) -> Result<(), RdmaRunError> {
        if let Some(first) = self.connections.first_mut() {
            first.pair.post_receive(&mut self.work.receive)?;
        }
        Ok(())
    }

    fn say(&mut self, number: u32) -> Result<(), RdmaRunError> {
        if let Some(first) = self.connections.first_mut() {
            self.work.notice.post(&mut first.pair, number, true)?;
            self.unconfirmed += 1;
        }
        Ok(())
    }

    /// Says a number and waits for the number that answers it.
    fn ask(&mut self, number: u32) -> Result<u32, RdmaRunError> {
        self.say(number)?;
        self.wait(None, |rounds| {
            rounds.heard.is_some() && rounds.unconfirmed == 0
        })?;
        self.expect_notice()?;
        Ok(self.heard.take().unwrap_or(0))
    }

    /// Until it is so; `false` if `stop` was set before.
    fn wait(
        &mut self,
        stop: Option<&AtomicBool>,
        is_done: impl Fn(&Self) -> bool,
    ) -> Result<bool, RdmaRunError> {
        let silence = 2 * self.parts.request.times.silence();
        let deadline = Instant::now() + silence;
        let mut idle = 0_u32;
        while !is_done(self) {
            if self.poll()? {
                continue;
            }
            yield_if(self.parts.yields);
            idle += 1;
            if idle < self.parts.polls_per_clock_read() {
                continue;
            }
            idle = 0;
            if stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
                return Ok(false);
            }
            let now = Instant::now();
            if now >= deadline {
                return Err(RdmaRunError::Silent(silence));
            }
            self.parts.check_events(now)?;
        }
        Ok(true)
    }

    fn poll(&mut self) -> Result<bool, RdmaRunError> {
        let mut any = false;
        for completion in self.parts.sends.poll(&mut self.batch)? {
            any = true;
            completion.result()?;
            if completion.identifier() == NOTICE_IDENTIFIER {
                self.unconfirmed = self.unconfirmed.saturating_sub(1);
            } else {
                self.sent += 1;
            }
        }
        for completion in self.parts.receives.poll(&mut self.batch)? {
            any = true;
            completion.result()?;
            match completion.immediate() {
                Some(number) => self.heard = Some(number),
                None => self.received += 1,
            }
        }
        Ok(any)
    }
}
