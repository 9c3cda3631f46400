//! What queue pairs and memory must share to work together.

use std::{ptr::NonNull, sync::Arc};

use crosstie_verbs_abi as abi;

use crate::{
    call::{pointer, warn_kept},
    context::{ContextHandle, DeviceContext},
    error::CreateError,
};

/// Clones share it.
#[derive(Debug, Clone)]
pub struct ProtectionDomain(pub(crate) Arc<DomainHandle>);

#[derive(Debug)]
pub(crate) struct DomainHandle {
    pub(crate) raw: NonNull<abi::ProtectionDomain>,
    pub(crate) context: Arc<ContextHandle>,
}

impl DeviceContext {
    pub fn protection_domain(&self) -> Result<ProtectionDomain, CreateError> {
        let context = Arc::clone(&self.0);
        // SAFETY: an open context.
        let made = pointer(unsafe { (context.functions().ibv_alloc_pd)(context.raw.as_ptr()) });
        let raw = made.map_err(CreateError::of(
            &context.name,
            "a protection domain",
            "ibv_alloc_pd",
        ))?;
        Ok(ProtectionDomain(Arc::new(DomainHandle { raw, context })))
    }
}

impl Drop for DomainHandle {
    fn drop(&mut self) {
        // SAFETY: regions and queue pairs of this domain held it, so they are gone; freed once.
        let code = unsafe { (self.context.functions().ibv_dealloc_pd)(self.raw.as_ptr()) };
        warn_kept(&self.context.name, "ibv_dealloc_pd", code);
    }
}

// SAFETY: libibverbs' functions may be called from any thread at once.
unsafe impl Send for DomainHandle {}
// SAFETY: likewise.
unsafe impl Sync for DomainHandle {}
