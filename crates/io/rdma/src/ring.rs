//! Messages that were prepared once and are posted round and round.

use crosstie_verbs::{
    Operation, PostError, QueuePair, ReadyToSend, RemoteMemory, SendList, SendRequest,
};

use crate::{
    engine::Parts,
    error::{JoinError, RequestError},
    request::{Direction, OpenRequest, Test},
};

/// Short messages go round in so many bytes, as perftest's do: another cache line each, all of them in the cache.
const CYCLE_BYTES: u32 = 4096;
const CACHE_LINE: u32 = 64;

/// Where the messages of a queue pair lie. Both ends have the same: sources first, then what the peer writes to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layout {
    stride: u32,
    /// Messages of the cycle; a power of two.
    slots: u32,
    queue_pairs: u16,
}

impl Layout {
    pub(crate) fn new(request: &OpenRequest) -> Result<Self, RequestError> {
        let too_large = RequestError::TooLarge {
            queue_pairs: request.queue_pairs,
            size: request.size,
        };
        let stride = request
            .size
            .checked_next_multiple_of(CACHE_LINE)
            .ok_or(too_large)?;
        let fitting = (CYCLE_BYTES / stride).max(1);
        Ok(Self {
            stride,
            slots: 1 << fitting.ilog2(),
            queue_pairs: request.queue_pairs,
        })
    }

    /// Bytes of a queue pair's sources, and of its targets.
    fn of_pair(self) -> u64 {
        u64::from(self.stride) * u64::from(self.slots)
    }

    pub(crate) fn bytes(self) -> u64 {
        2 * self.of_pair() * u64::from(self.queue_pairs)
    }

    pub(crate) fn source(self, pair: usize, slot: u32) -> u64 {
        self.of_pair() * pair as u64 + u64::from(slot) * u64::from(self.stride)
    }

    pub(crate) fn target(self, pair: usize, slot: u32) -> u64 {
        self.source(pair + usize::from(self.queue_pairs), slot)
    }
}

/// A queue pair's messages.
#[derive(Debug)]
pub(crate) struct Ring {
    lists: Vec<SendList>,
    next: usize,
}

impl Ring {
    /// Requests carry their queue pair's place as their identifier.
    pub(crate) fn new(
        parts: &Parts,
        pair: usize,
        inline: bool,
        peer: RemoteMemory,
    ) -> Result<Self, JoinError> {
        let Parts {
            request,
            layout,
            memory,
            ..
        } = parts;
        // All are powers of two, so the largest is a multiple of the others. As many as may be under way, so that a full
        // round is posted in one go.
        let count = layout.slots.max(request.depth);
        let messages = (0..count).map(|number| {
            let slot = number % layout.slots;
            // The region is as long as the layout, and was made in memory.
            let local = usize::try_from(layout.source(pair, slot)).unwrap_or(usize::MAX);
            Ok(SendRequest {
                identifier: pair as u64,
                local: memory.span(local, request.size)?,
                operation: operation(request.test, peer, layout.target(pair, slot)),
                signalled: (number + 1).is_multiple_of(request.signal_every),
                inline,
            })
        });
        let messages = messages.collect::<Result<Vec<_>, JoinError>>()?;
        let lists = messages.chunks(request.list as usize);
        let lists = lists.map(|list| SendList::new(list.to_vec()));
        Ok(Self {
            lists: lists.collect::<Result<_, _>>()?,
            next: 0,
        })
    }

    /// Posts so many lists, one after the other.
    #[inline]
    pub(crate) fn post(
        &mut self,
        pair: &mut QueuePair<ReadyToSend>,
        mut lists: usize,
    ) -> Result<(), PostError> {
        while lists > 0 {
            // Up to the ring's end at once, so that a post is all there is to do for a list.
            let upcoming = &mut self.lists[self.next..];
            let count = lists.min(upcoming.len());
            for list in &mut upcoming[..count] {
                pair.post_send(list)?;
            }
            lists -= count;
            self.next += count;
            if self.next == self.lists.len() {
                self.next = 0;
            }
        }
        Ok(())
    }

    /// The next list, to be changed before it is posted.
    pub(crate) fn upcoming(&mut self) -> &mut SendList {
        &mut self.lists[self.next]
    }
}

fn operation(test: Test, peer: RemoteMemory, offset: u64) -> Operation {
    match test {
        Test::Bandwidth {
            direction: Direction::Write,
        } => Operation::Write { to: peer, offset },
        Test::Bandwidth {
            direction: Direction::Read,
        } => Operation::Read { from: peer, offset },
        Test::Latency => Operation::WriteWithImmediate {
            to: peer,
            offset,
            immediate: 0,
        },
    }
}
