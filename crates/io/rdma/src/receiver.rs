//! Taking messages that use up a receive, and meeting the other end before the first and after the last.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use crosstie_verbs::{CompletionBatch, DeviceLimits, ReceiveList};

use crate::{
    empty_notice::{EmptyNotice, LAST_NOTICE, NOTICE_IDENTIFIER, READY},
    engine::{EngineParts, RdmaConnection, yield_if},
    error::{RdmaJoinError, RdmaRunError},
    figures::RdmaFigures,
    request::{BandwidthOperation, RdmaOpenRequest, RdmaRole, RdmaTest},
};

/// Receives that are polled at once.
const POLL_BATCH: u16 = 64;
/// On a queue pair, ahead of what is sent: an end whose thread sleeps for a moment must not run out of them, since a message that
/// finds none is tried again for a few milliseconds, and then ends the test.
const RECEIVES_AHEAD: u32 = 2048;

/// Receives of every queue pair, posted ahead, and again as they are used up.
#[derive(Debug)]
pub(crate) struct ReceiveQueues {
    queues: Vec<Queue>,
    notice: EmptyNotice,
    batch: CompletionBatch,
    peer_is_ready: bool,
    peer_has_ended: bool,
    /// The last notice has arrived.
    is_confirmed: bool,
}

#[derive(Debug)]
struct Queue {
    /// A part of those that are posted ahead, which is posted again once as many are used up.
    part: ReceiveList,
    used: usize,
}

/// Receives that are posted ahead on a queue pair, as many as the device can hold; none where nothing comes that needs one.
pub(crate) fn receives_ahead(request: &RdmaOpenRequest, limits: DeviceLimits) -> u32 {
    match (request.test, request.role) {
        (
            RdmaTest::Bandwidth {
                transfer: BandwidthOperation::Send,
            },
            _,
        ) => {
            let queue_pairs = u32::from(request.queue_pairs);
            let fits = |ahead: u32| {
                let entries = ahead.saturating_mul(queue_pairs);
                (limits.queue_depth == 0 || ahead <= limits.queue_depth)
                    && (limits.completion_entries == 0 || entries <= limits.completion_entries)
            };
            let mut ahead = RECEIVES_AHEAD;
            while ahead > 2 * request.depth && !fits(ahead) {
                ahead /= 2;
            }
            // Of which the depth was made to fit.
            ahead.max(2 * request.depth)
        }
        // The two notices of the other end.
        (RdmaTest::Bandwidth { .. }, RdmaRole::Both) => 2,
        _ => 0,
    }
}

impl ReceiveQueues {
    /// Posts the receives, so that a peer may begin. `None` where none are needed.
    pub(crate) fn new(
        parts: &EngineParts,
        connections: &mut [RdmaConnection],
    ) -> Result<Option<Self>, RdmaJoinError> {
        let ahead = parts.receives_ahead;
        if ahead == 0 {
            return Ok(None);
        }
        let is_send = parts.request.has_working_responder();
        let of_part = (ahead / 2).min(parts.request.depth);
        let mut queues = Vec::with_capacity(connections.len());
        for (index, connection) in connections.iter_mut().enumerate() {
            let mut part = receives(parts, index, of_part, is_send)?;
            for _ in 0..ahead / of_part {
                connection.pair.post_receive(&mut part)?;
            }
            queues.push(Queue { part, used: 0 });
        }
        Ok(Some(Self {
            queues,
            notice: EmptyNotice::new(&parts.memory)?,
            batch: CompletionBatch::new(POLL_BATCH),
            peer_is_ready: false,
            peer_has_ended: false,
            is_confirmed: false,
        }))
    }

    /// Takes what has come, as much as is polled at once; whether anything has.
    #[inline]
    pub(crate) fn poll(
        &mut self,
        parts: &EngineParts,
        connections: &mut [RdmaConnection],
    ) -> Result<bool, RdmaRunError> {
        let got = parts.receives.poll(&mut self.batch)?;
        for completion in got {
            completion.result()?;
            match completion.immediate() {
                Some(READY) => self.peer_is_ready = true,
                Some(LAST_NOTICE) => self.peer_has_ended = true,
                _ => {}
            }
            let identifier = completion.identifier();
            let place = usize::try_from(identifier).unwrap_or(usize::MAX);
            let found = self.queues.get_mut(place).zip(connections.get_mut(place));
            let (queue, connection) = found.ok_or(RdmaRunError::UnknownQueuePair(identifier))?;
            queue.used += 1;
            if queue.used == queue.part.length() {
                queue.used = 0;
                connection.pair.post_receive(&mut queue.part)?;
            }
        }
        Ok(!got.is_empty())
    }

    /// Waits until the other end takes messages: one that came before would find no receive.
    pub(crate) fn wait_for_peer_ready(
        &mut self,
        parts: &EngineParts,
        connections: &mut [RdmaConnection],
        stop: &AtomicBool,
    ) -> Result<(), RdmaRunError> {
        self.say(connections, READY, false)?;
        // The other end is told to begin at the same time, over another connection.
        let silence = 2 * parts.request.times.silence();
        let mut deadline = Instant::now() + silence;
        while !self.peer_is_ready && !stop.load(Ordering::Relaxed) {
            self.poll_or_rest(parts, connections, silence, &mut deadline)?;
        }
        Ok(())
    }

    /// Tells the other end that there are no more messages, and waits until it has heard so. Where both send, also until it
    /// has said the same: what it writes to must not go before.
    pub(crate) fn part(
        &mut self,
        parts: &EngineParts,
        connections: &mut [RdmaConnection],
        stop: &AtomicBool,
    ) -> Result<(), RdmaRunError> {
        self.say(connections, LAST_NOTICE, true)?;
        let waits = parts.request.role == RdmaRole::Both;
        // It began as this end did, and may be slower.
        let silence = 2 * parts.request.times.silence();
        let mut deadline = Instant::now() + silence;
        let is_over = |receiver: &Self| receiver.peer_has_ended || stop.load(Ordering::Relaxed);
        while !self.is_confirmed || waits && !is_over(self) {
            self.poll_or_rest(parts, connections, silence, &mut deadline)?;
        }
        Ok(())
    }

    /// The responder: takes messages until there are no more, or `stop` is set.
    pub(crate) fn respond(
        &mut self,
        parts: &EngineParts,
        connections: &mut [RdmaConnection],
        stop: &AtomicBool,
    ) -> Result<RdmaFigures, RdmaRunError> {
        self.wait_for_peer_ready(parts, connections, stop)?;
        let silence = 2 * parts.request.times.silence();
        let mut deadline = Instant::now() + silence;
        while !self.peer_has_ended && !stop.load(Ordering::Relaxed) {
            self.poll_or_rest(parts, connections, silence, &mut deadline)?;
        }
        Ok(RdmaFigures::Responded)
    }

    /// Polls until something comes, or for a while; an error where nothing has for too long. Nothing but notices may be under
    /// way.
    fn poll_or_rest(
        &mut self,
        parts: &EngineParts,
        connections: &mut [RdmaConnection],
        silence: Duration,
        deadline: &mut Instant,
    ) -> Result<(), RdmaRunError> {
        for _ in 0..parts.polls_per_clock_read() {
            if self.poll(parts, connections)? {
                *deadline = Instant::now() + silence;
                return Ok(());
            }
            yield_if(parts.yields);
        }
        // A notice that failed explains why nothing comes.
        for completion in parts.sends.poll(&mut self.batch)? {
            completion.result()?;
            self.is_confirmed |= completion.identifier() == NOTICE_IDENTIFIER;
        }
        let now = Instant::now();
        if now >= *deadline {
            return Err(RdmaRunError::Silent(silence));
        }
        parts.check_events(now)
    }

    fn say(
        &mut self,
        connections: &mut [RdmaConnection],
        number: u32,
        signalled: bool,
    ) -> Result<(), RdmaRunError> {
        self.is_confirmed = false;
        if let Some(first) = connections.first_mut() {
            self.notice.post(&mut first.pair, number, signalled)?;
        }
        Ok(())
    }
}

/// Each takes a message of any of the test's sizes; those that only notices use up have no memory.
fn receives(
    parts: &EngineParts,
    pair: usize,
    count: u32,
    with_memory: bool,
) -> Result<ReceiveList, RdmaJoinError> {
    let longest = parts.plans.iter().max_by_key(|plan| plan.size);
    let longest = longest.filter(|_| with_memory);
    let spans = (0..count).map(|number| {
        let span = match longest {
            Some(plan) => {
                let target = plan.layout.target(pair, number % plan.layout.slots());
                let target = usize::try_from(target).unwrap_or(usize::MAX);
                parts.memory.span(target, plan.size)?
            }
            None => parts.memory.span(0, 0)?,
        };
        Ok((pair as u64, span))
    });
    let spans = spans.collect::<Result<Vec<_>, RdmaJoinError>>()?;
    Ok(ReceiveList::new(spans)?)
}
