//! An opened device.

use std::{
    os::fd::{BorrowedFd, RawFd},
    ptr::NonNull,
    sync::Arc,
};

use crosstie_verbs_abi::{self as abi, ZeroableType};
use rustix::fs::OFlags;

use crate::{
    call::{check, failed, field, pointer, warn_kept},
    device::{DeviceList, VerbsDevice},
    error::{OpenDeviceError, VerbsCallError},
    library::Functions,
};

/// An opened device. Clones share it.
#[derive(Debug, Clone)]
pub struct DeviceContext(pub(crate) Arc<ContextHandle>);

#[derive(Debug)]
pub(crate) struct ContextHandle {
    pub(crate) raw: NonNull<abi::Context>,
    pub(crate) name: Arc<str>,
    pub(crate) operations: DriverOperations,
    async_fd: RawFd,
    list: Arc<DeviceList>,
}

/// The driver's functions, which have no symbols: C programs call them through the context, too.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DriverOperations {
    pub(crate) poll: abi::PollCompletions,
    pub(crate) request_notify: abi::RequestNotification,
    pub(crate) post_send: abi::PostSend,
    pub(crate) post_receive: abi::PostReceive,
}

/// What a device can do at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceLimits {
    pub queue_pairs: u32,
    /// Work requests of a queue.
    pub queue_depth: u32,
    /// Entries of a completion queue.
    pub completion_entries: u32,
    /// RDMA reads that a queue pair answers at once.
    pub reads_answered: u8,
    /// RDMA reads that a queue pair has under way at once.
    pub reads_begun: u8,
    pub ports: u8,
}

impl VerbsDevice {
    pub fn open(&self) -> Result<DeviceContext, OpenDeviceError> {
        let functions = self.list.library.functions();
        // SAFETY: the device is one of a list that `self` keeps.
        let opened = pointer(unsafe { (functions.ibv_open_device)(self.raw.as_ptr()) });
        let raw = opened.map_err(|source| match source.kind() {
            std::io::ErrorKind::PermissionDenied => OpenDeviceError::Denied {
                device: self.name().to_owned(),
                source,
            },
            _ => OpenDeviceError::Call(failed(self.name(), "ibv_open_device")(source)),
        })?;
        // SAFETY: a context has these at these offsets; they are set when it is made, and do not change.
        let (operations, async_fd) = unsafe {
            let operations = DriverOperations {
                poll: field(raw, abi::context::POLL_CQ),
                request_notify: field(raw, abi::context::REQUEST_NOTIFY),
                post_send: field(raw, abi::context::POST_SEND),
                post_receive: field(raw, abi::context::POST_RECEIVE),
            };
            (operations, field::<_, RawFd>(raw, abi::context::ASYNC_FD))
        };
        let context = DeviceContext(Arc::new(ContextHandle {
            raw,
            name: Arc::clone(&self.name),
            operations,
            async_fd,
            list: Arc::clone(&self.list),
        }));
        set_nonblocking(context.0.async_fd())
            .map_err(failed(self.name(), "O_NONBLOCK for asynchronous events"))
            .map_err(OpenDeviceError::Call)?;
        Ok(context)
    }
}

impl DeviceContext {
    pub fn device_name(&self) -> &str {
        &self.0.name
    }

    pub fn limits(&self) -> Result<DeviceLimits, VerbsCallError> {
        let mut attributes = abi::DeviceAttributes::ZEROED;
        let query = self.0.functions().ibv_query_device;
        // SAFETY: an open context, and room for what is answered.
        check(unsafe { query(self.0.raw.as_ptr(), &raw mut attributes) })
            .map_err(failed(&self.0.name, "ibv_query_device"))?;
        let count = |value: i32| u32::try_from(value).unwrap_or(0);
        let byte = |value: i32| u8::try_from(value.clamp(0, 255)).unwrap_or(u8::MAX);
        Ok(DeviceLimits {
            queue_pairs: count(attributes.max_qp),
            queue_depth: count(attributes.max_qp_wr),
            completion_entries: count(attributes.max_cqe),
            reads_answered: byte(attributes.max_qp_rd_atom),
            reads_begun: byte(attributes.max_qp_init_rd_atom),
            ports: attributes.phys_port_cnt,
        })
    }
}

impl ContextHandle {
    pub(crate) fn functions(&self) -> &Functions {
        self.list.library.functions()
    }

    pub(crate) fn async_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: libibverbs closes it with the context, which is not before `self` is dropped.
        unsafe { BorrowedFd::borrow_raw(self.async_fd) }
    }
}

/// So that a wait ends at its deadline though somebody else took the event.
pub(crate) fn set_nonblocking(fd: BorrowedFd<'_>) -> std::io::Result<()> {
    let flags = rustix::fs::fcntl_getfl(fd)?;
    rustix::fs::fcntl_setfl(fd, flags | OFlags::NONBLOCK)?;
    Ok(())
}

impl Drop for ContextHandle {
    fn drop(&mut self) {
        // SAFETY: whatever was made of this context held it, so it is gone; closed once.
        let code = unsafe { (self.functions().ibv_close_device)(self.raw.as_ptr()) };
        warn_kept(&self.name, "ibv_close_device", code);
    }
}

// SAFETY: libibverbs' functions may be called from any thread at once.
unsafe impl Send for ContextHandle {}
// SAFETY: likewise.
unsafe impl Sync for ContextHandle {}
