//! Messages without bytes, by which the ends tell each other where they are. Each uses up a receive of the peer's.

use crosstie_verbs::{
    MemoryRegion, PostError, QueuePair, ReadyToSend, SendList, SendOperation, SendRequest,
};

use crate::error::PrepareMessagesError;

/// By which its completion is told from others.
pub(crate) const NOTICE_IDENTIFIER: u64 = u64::MAX;
/// This end takes messages.
pub(crate) const READY: u32 = u32::MAX - 1;
/// There are no more messages.
pub(crate) const LAST_NOTICE: u32 = u32::MAX;

#[derive(Debug)]
pub(crate) struct EmptyNotice(SendList);

impl EmptyNotice {
    pub(crate) fn new(memory: &MemoryRegion) -> Result<Self, PrepareMessagesError> {
        let request = SendRequest {
            identifier: NOTICE_IDENTIFIER,
            local: memory.span(0, 0)?,
            operation: SendOperation::SendWithImmediate { immediate: 0 },
            signalled: true,
            inline: false,
        };
        Ok(Self(SendList::new(vec![request])?))
    }

    /// One that is not signalled is known to have come by what follows it.
    pub(crate) fn post(
        &mut self,
        pair: &mut QueuePair<ReadyToSend>,
        number: u32,
        signalled: bool,
    ) -> Result<(), PostError> {
        let mut request = self.0.first();
        request.set_immediate(number);
        request.set_signalled(signalled);
        pair.post_send(&mut self.0)
    }
}
