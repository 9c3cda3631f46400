//! Messages that were prepared once and are posted round and round.

use crosstie_verbs::{
    PostError, QueuePair, ReadyToSend, RemoteMemory, SendList, SendOperation, SendRequest,
};

use crate::{
    engine::EngineParts,
    error::PrepareMessagesError,
    request::{BandwidthOperation, LatencyOperation, RdmaTest},
    size_plan::SizePlan,
};

/// A queue pair's messages.
#[derive(Debug)]
pub(crate) struct MessageRing {
    lists: Vec<SendList>,
    next: usize,
}

impl MessageRing {
    /// Requests carry their queue pair's place as their identifier.
    pub(crate) fn new(
        parts: &EngineParts,
        plan: &SizePlan,
        pair: usize,
        inline: bool,
        peer: RemoteMemory,
    ) -> Result<Self, PrepareMessagesError> {
        let request = &parts.request;
        let layout = plan.layout;
        // All are powers of two, so the largest is a multiple of the others. As many as may be under way, so that a full
        // round is posted in one go.
        let count = layout.slots().max(plan.depth);
        let messages = (0..count).map(|number| {
            let slot = number % layout.slots();
            // The region is as long as the layout, and was made in memory.
            let local = usize::try_from(layout.source(pair, slot)).unwrap_or(usize::MAX);
            Ok(SendRequest {
                identifier: pair as u64,
                local: parts.memory.span(local, plan.size)?,
                operation: operation(request.test, peer, layout.target(pair, slot)),
                signalled: (number + 1).is_multiple_of(plan.signal_every),
                inline,
            })
        });
        let messages = messages.collect::<Result<Vec<_>, PrepareMessagesError>>()?;
        let lists = messages.chunks(plan.list as usize);
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

fn operation(test: RdmaTest, peer: RemoteMemory, offset: u64) -> SendOperation {
    match test {
        RdmaTest::Bandwidth { transfer } | RdmaTest::Verify { transfer } => match transfer {
            BandwidthOperation::Write => SendOperation::Write { to: peer, offset },
            BandwidthOperation::Read => SendOperation::Read { from: peer, offset },
            BandwidthOperation::Send => SendOperation::Send,
        },
        RdmaTest::Latency { message } => match message {
            LatencyOperation::WriteWithImmediate => SendOperation::WriteWithImmediate {
                to: peer,
                offset,
                immediate: 0,
            },
            LatencyOperation::Send => SendOperation::Send,
        },
    }
}
