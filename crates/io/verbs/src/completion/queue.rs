//! A queue of completions.

use std::{ptr::NonNull, sync::Arc, time::Instant};

use crosstie_verbs_abi as abi;

use super::{
    batch::{Completion, CompletionBatch},
    channel::{CompletionChannel, readable},
};
use crate::{
    call::{check, failed, pointer, warn_kept},
    context::{ContextHandle, DeviceContext},
    error::{CompletionWaitError, CreateError, VerbsCallError},
};

/// Clones share it.
#[derive(Debug, Clone)]
pub struct CompletionQueue(pub(crate) Arc<QueueHandle>);

#[derive(Debug)]
pub(crate) struct QueueHandle {
    pub(crate) raw: NonNull<abi::CompletionQueue>,
    poll: abi::PollCompletions,
    /// Destroyed after the queue, which `drop` does first.
    channel: Option<CompletionChannel>,
    pub(crate) context: Arc<ContextHandle>,
}

impl DeviceContext {
    /// A queue that is polled.
    pub fn completion_queue(&self, entries: u32) -> Result<CompletionQueue, CreateError> {
        self.make_queue(entries, None)
    }

    /// A queue that can also be waited for asleep.
    pub fn completion_queue_with_channel(
        &self,
        entries: u32,
    ) -> Result<CompletionQueue, CreateError> {
        self.make_queue(entries, Some(CompletionChannel::new(&self.0)?))
    }

    fn make_queue(
        &self,
        entries: u32,
        channel: Option<CompletionChannel>,
    ) -> Result<CompletionQueue, CreateError> {
        let context = Arc::clone(&self.0);
        let events = channel
            .as_ref()
            .map_or(std::ptr::null_mut(), |channel| channel.raw.as_ptr());
        let entries = i32::try_from(entries).unwrap_or(i32::MAX);
        let create = context.functions().ibv_create_cq;
        // SAFETY: an open context, and a channel of it or none.
        let made = pointer(unsafe {
            create(
                context.raw.as_ptr(),
                entries,
                std::ptr::null_mut(),
                events,
                0,
            )
        });
        let raw = made.map_err(CreateError::of(
            &context.name,
            "a completion queue",
            "ibv_create_cq",
        ))?;
        let poll = context.operations.poll;
        Ok(CompletionQueue(Arc::new(QueueHandle {
            raw,
            poll,
            channel,
            context,
        })))
    }
}

impl CompletionQueue {
    /// What has completed since it was last asked, as much as the batch has room for.
    #[inline]
    pub fn poll<'batch>(
        &self,
        batch: &'batch mut CompletionBatch,
    ) -> Result<&'batch [Completion], VerbsCallError> {
        let queue = &*self.0;
        // SAFETY: a queue that has not been destroyed, and a batch with room for as many entries as are asked for.
        let count = unsafe { (queue.poll)(queue.raw.as_ptr(), batch.room(), batch.start()) };
        match usize::try_from(count) {
            Ok(count) => Ok(batch.first(count)),
            Err(_) => Err(poll_error(queue, count)),
        }
    }

    /// Polls until something has completed.
    pub fn wait<'batch>(
        &self,
        batch: &'batch mut CompletionBatch,
        deadline: Instant,
    ) -> Result<&'batch [Completion], CompletionWaitError> {
        let started = Instant::now();
        loop {
            let count = self.poll(batch)?.len();
            if count > 0 {
                return Ok(batch.first(count));
            }
            if Instant::now() >= deadline {
                return Err(self.late(started));
            }
            std::hint::spin_loop();
        }
    }

    /// Sleeps until something has completed; the queue must have a channel.
    pub fn wait_blocking<'batch>(
        &self,
        batch: &'batch mut CompletionBatch,
        deadline: Instant,
    ) -> Result<&'batch [Completion], CompletionWaitError> {
        let started = Instant::now();
        let queue = &*self.0;
        let Some(channel) = &queue.channel else {
            let device = queue.context.name.to_string();
            return Err(CompletionWaitError::NoChannel { device });
        };
        loop {
            self.arm()?;
            // What completed before it was armed makes no event.
            let count = self.poll(batch)?.len();
            if count > 0 {
                return Ok(batch.first(count));
            }
            let ready = readable(channel.fd(), deadline)
                .map_err(failed(&queue.context.name, "poll for completions"))?;
            if !ready {
                return Err(self.late(started));
            }
            channel
                .take_event()
                .map_err(failed(&queue.context.name, "ibv_get_cq_event"))?;
        }
    }

    fn arm(&self) -> Result<(), VerbsCallError> {
        let queue = &*self.0;
        let request = queue.context.operations.request_notify;
        // SAFETY: a queue that has not been destroyed. 0: for every completion, not solicited ones alone.
        check(unsafe { request(queue.raw.as_ptr(), 0) })
            .map_err(failed(&queue.context.name, "ibv_req_notify_cq"))
    }

    fn late(&self, started: Instant) -> CompletionWaitError {
        CompletionWaitError::DeadlinePassed {
            device: self.0.context.name.to_string(),
            waited: started.elapsed(),
        }
    }
}

#[cold]
fn poll_error(queue: &QueueHandle, code: i32) -> VerbsCallError {
    let source = match check(code) {
        Err(source) => source,
        Ok(()) => std::io::ErrorKind::Other.into(),
    };
    failed(&queue.context.name, "ibv_poll_cq")(source)
}

impl Drop for QueueHandle {
    fn drop(&mut self) {
        let destroy = self.context.functions().ibv_destroy_cq;
        // SAFETY: queue pairs held it, so they are gone, and every event was acknowledged; destroyed once.
        let code = unsafe { destroy(self.raw.as_ptr()) };
        warn_kept(&self.context.name, "ibv_destroy_cq", code);
    }
}

// SAFETY: libibverbs' functions may be called from any thread at once.
unsafe impl Send for QueueHandle {}
// SAFETY: likewise.
unsafe impl Sync for QueueHandle {}
