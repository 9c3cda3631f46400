//! Sleeping until something completes.

use std::{
    io,
    os::fd::{BorrowedFd, RawFd},
    ptr::NonNull,
    sync::Arc,
    time::Instant,
};

use crosstie_verbs_abi as abi;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::{
    call::{failed, field, pointer, warn_kept},
    context::{ContextHandle, set_nonblocking},
    error::CreateError,
};

/// A file descriptor that becomes readable when an armed completion queue gets an entry.
#[derive(Debug)]
pub(super) struct CompletionChannel {
    pub(super) raw: NonNull<abi::Channel>,
    fd: RawFd,
    context: Arc<ContextHandle>,
}

impl CompletionChannel {
    pub(super) fn new(context: &Arc<ContextHandle>) -> Result<Self, CreateError> {
        let create = context.functions().ibv_create_comp_channel;
        // SAFETY: an open context.
        let made = pointer(unsafe { create(context.raw.as_ptr()) });
        let call = "ibv_create_comp_channel";
        let raw = made.map_err(CreateError::of(&context.name, "a completion channel", call))?;
        let channel = Self {
            raw,
            // SAFETY: a channel has its file descriptor at this offset.
            fd: unsafe { field(raw, abi::channel::FD) },
            context: Arc::clone(context),
        };
        set_nonblocking(channel.fd())
            .map_err(failed(&context.name, "O_NONBLOCK for a completion channel"))
            .map_err(CreateError::Call)?;
        Ok(channel)
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        // SAFETY: libibverbs closes it with the channel, which is not before `self` is dropped.
        unsafe { BorrowedFd::borrow_raw(self.fd) }
    }

    /// Takes one event, if there is one, and acknowledges it: a completion queue cannot be destroyed before.
    pub(super) fn take_event(&self) -> io::Result<()> {
        let functions = self.context.functions();
        let mut queue = std::ptr::null_mut();
        let mut own = std::ptr::null_mut();
        // SAFETY: a channel that has not been destroyed, and room for what is answered.
        let code = unsafe {
            (functions.ibv_get_cq_event)(self.raw.as_ptr(), &raw mut queue, &raw mut own)
        };
        if code == 0 {
            // SAFETY: the queue that the event names is not destroyed before the event is acknowledged, which it is once.
            unsafe { (functions.ibv_ack_cq_events)(queue, 1) };
            return Ok(());
        }
        match io::Error::last_os_error() {
            error if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
            error => Err(error),
        }
    }
}

impl Drop for CompletionChannel {
    fn drop(&mut self) {
        let destroy = self.context.functions().ibv_destroy_comp_channel;
        // SAFETY: its completion queue was destroyed before; destroyed once.
        let code = unsafe { destroy(self.raw.as_ptr()) };
        warn_kept(&self.context.name, "ibv_destroy_comp_channel", code);
    }
}

/// Whether it becomes readable before the deadline.
pub(crate) fn readable(fd: BorrowedFd<'_>, deadline: Instant) -> io::Result<bool> {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        // A deadline beyond what the kernel counts is as good as none.
        let timeout = Timespec::try_from(left).ok();
        match poll(&mut [PollFd::new(&fd, PollFlags::IN)], timeout.as_ref()) {
            Ok(ready) => return Ok(ready > 0),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
