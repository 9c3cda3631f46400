//! What is behind a queue pair in any state.

use std::{io, ptr::NonNull, sync::Arc};

use crosstie_verbs_abi as abi;
use rustix::io::Errno;

use crate::{
    call::{check, failed, warn_kept},
    completion::QueueHandle,
    context::DriverOperations,
    error::PostError,
    protection_domain::DomainHandle,
};

#[derive(Debug)]
pub(super) struct PairHandle {
    pub(super) raw: NonNull<abi::QueuePair>,
    /// The driver's, close at hand for each post.
    pub(super) operations: DriverOperations,
    pub(super) number: u32,
    /// Of the first packet that it sends.
    pub(super) packet_sequence: u32,
    pub(super) port: u8,
    pub(super) capabilities: abi::QueueCapabilities,
    pub(super) domain: Arc<DomainHandle>,
    /// Destroyed after it.
    pub(super) _queues: [Arc<QueueHandle>; 2],
}

impl PairHandle {
    pub(super) fn device(&self) -> &str {
        &self.domain.context.name
    }

    pub(super) fn modify(
        &self,
        attributes: &mut abi::QueuePairAttributes,
        mask: u32,
    ) -> io::Result<()> {
        let modify = self.domain.context.functions().ibv_modify_qp;
        // SAFETY: a queue pair that has not been destroyed, and attributes of the library's own size.
        check(unsafe { modify(self.raw.as_ptr(), attributes, mask.cast_signed()) })
    }

    #[cold]
    pub(super) fn post_error(&self, code: i32, call: &'static str, posted: usize) -> PostError {
        let source = match check(code) {
            Err(source) => source,
            Ok(()) => io::ErrorKind::Other.into(),
        };
        let device = self.device().to_owned();
        match source.raw_os_error().map(Errno::from_raw_os_error) {
            Some(Errno::NOMEM | Errno::NOSPC | Errno::AGAIN) => PostError::QueueFull {
                device,
                posted,
                source,
            },
            Some(Errno::INVAL) => PostError::Refused {
                device,
                posted,
                source,
            },
            _ => PostError::Call(failed(&device, call)(source)),
        }
    }
}

impl Drop for PairHandle {
    fn drop(&mut self) {
        let context = &self.domain.context;
        // SAFETY: destroyed once; its events were acknowledged as they were taken.
        let code = unsafe { (context.functions().ibv_destroy_qp)(self.raw.as_ptr()) };
        warn_kept(&context.name, "ibv_destroy_qp", code);
    }
}

// SAFETY: libibverbs' functions may be called from any thread.
unsafe impl Send for PairHandle {}
