//! Memory that a device may read and write.

use std::{io, mem::ManuallyDrop, ptr::NonNull, sync::Arc};

use crosstie_model::Bytes;
use crosstie_verbs_abi as abi;
use rustix::io::Errno;

use crate::{
    buffer::PageAlignedBuffer,
    call::{check, failed, field, pointer, warn_kept},
    endpoint::RemoteMemory,
    error::{OutOfRange, RegisterMemoryError},
    protection_domain::{DomainHandle, ProtectionDomain},
};

/// What peers may do to a region; its own device may always read and write it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RemoteAccess {
    pub remote_write: bool,
    pub remote_read: bool,
    /// The device may write out of order, which is faster across some PCI Express switches. A latency test that polls
    /// a message's last byte must not ask for it. Drivers that do not know it ignore it.
    pub relaxed_ordering: bool,
}

/// Zeroed memory that is registered with a device. Clones share it; it is unregistered, then freed, with the last.
#[derive(Debug, Clone)]
pub struct MemoryRegion(Arc<RegionHandle>);

#[derive(Debug)]
struct RegionHandle {
    raw: NonNull<abi::Region>,
    /// Freed after it was unregistered, and not at all if that failed.
    buffer: ManuallyDrop<PageAlignedBuffer>,
    local_key: u32,
    remote_key: u32,
    domain: Arc<DomainHandle>,
}

/// A piece of a region, for a work request.
#[derive(Debug, Clone)]
pub struct MemorySpan {
    pub(crate) region: MemoryRegion,
    pub(crate) offset: usize,
    pub(crate) length: u32,
}

impl ProtectionDomain {
    pub fn register(
        &self,
        length: usize,
        access: RemoteAccess,
    ) -> Result<MemoryRegion, RegisterMemoryError> {
        let bytes = Bytes(length as u64);
        let buffer = PageAlignedBuffer::zeroed(length).ok_or(RegisterMemoryError::Buffer(bytes))?;
        let domain = Arc::clone(&self.0);
        let start = buffer.address().as_ptr();
        let register = domain.context.functions().ibv_reg_mr_iova2;
        // SAFETY: the buffer is ours, as long as is said, and is not freed before it was unregistered.
        let made = pointer(unsafe {
            register(
                domain.raw.as_ptr(),
                start.cast(),
                length,
                start as u64,
                access.flags(),
            )
        });
        let raw = made.map_err(|source| register_error(&domain.context.name, bytes, source))?;
        // SAFETY: a region has these at these offsets, and they do not change.
        let (local_key, remote_key) = unsafe {
            (
                field(raw, abi::region::LOCAL_KEY),
                field(raw, abi::region::REMOTE_KEY),
            )
        };
        Ok(MemoryRegion(Arc::new(RegionHandle {
            raw,
            buffer: ManuallyDrop::new(buffer),
            local_key,
            remote_key,
            domain,
        })))
    }
}

impl RemoteAccess {
    fn flags(self) -> u32 {
        let mut flags = abi::ACCESS_LOCAL_WRITE;
        for (wanted, flag) in [
            (self.remote_write, abi::ACCESS_REMOTE_WRITE),
            (self.remote_read, abi::ACCESS_REMOTE_READ),
            (self.relaxed_ordering, abi::ACCESS_RELAXED_ORDERING),
        ] {
            if wanted {
                flags |= flag;
            }
        }
        flags
    }
}

fn register_error(device: &str, bytes: Bytes, source: io::Error) -> RegisterMemoryError {
    let call = failed(device, "ibv_reg_mr_iova2");
    let device = device.to_owned();
    match source.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::NOMEM | Errno::AGAIN) => RegisterMemoryError::LockedMemory {
            device,
            bytes,
            source,
        },
        Some(Errno::NOSYS | Errno::OPNOTSUPP) => {
            RegisterMemoryError::Unsupported { device, source }
        }
        _ => RegisterMemoryError::Call(call(source)),
    }
}

impl MemoryRegion {
    pub fn length(&self) -> usize {
        self.0.buffer.len()
    }

    /// What a peer needs to write to it or read from it.
    pub fn remote(&self) -> RemoteMemory {
        RemoteMemory {
            address: self.address_of(0),
            length: self.length() as u64,
            key: self.0.remote_key,
        }
    }

    pub fn span(&self, offset: usize, length: u32) -> Result<MemorySpan, OutOfRange> {
        self.check(offset, length as usize)?;
        Ok(MemorySpan {
            region: self.clone(),
            offset,
            length,
        })
    }

    /// One byte, and with it whatever was written before it.
    pub fn byte(&self, offset: usize) -> Result<u8, OutOfRange> {
        self.check(offset, 1)?;
        Ok(self.0.buffer.load(offset))
    }

    /// A copy of what is there. While a device writes, it may hold old and new bytes.
    pub fn read(&self, offset: usize, to: &mut [u8]) -> Result<(), OutOfRange> {
        self.check(offset, to.len())?;
        self.0.buffer.copy_out(offset, to);
        Ok(())
    }

    pub fn write(&self, offset: usize, from: &[u8]) -> Result<(), OutOfRange> {
        self.check(offset, from.len())?;
        self.0.buffer.copy_in(offset, from);
        Ok(())
    }

    pub(crate) fn local_key(&self) -> u32 {
        self.0.local_key
    }

    /// Where the device finds a byte: it is told the program's own addresses.
    pub(crate) fn address_of(&self, offset: usize) -> u64 {
        self.0.buffer.address().as_ptr() as u64 + offset as u64
    }

    fn check(&self, offset: usize, length: usize) -> Result<(), OutOfRange> {
        if self.0.buffer.contains(offset, length) {
            return Ok(());
        }
        Err(OutOfRange {
            offset: offset as u64,
            length: length as u64,
            region: self.length() as u64,
        })
    }
}

impl Drop for RegionHandle {
    fn drop(&mut self) {
        let context = &self.domain.context;
        // SAFETY: registered once and unregistered once. Requests that still name it fail from now on; after this call
        // the device does not touch the memory.
        let code = unsafe { (context.functions().ibv_dereg_mr)(self.raw.as_ptr()) };
        if check(code).is_ok() {
            // SAFETY: dropped once, here, and not used afterwards.
            unsafe { ManuallyDrop::drop(&mut self.buffer) };
        } else {
            warn_kept(&context.name, "ibv_dereg_mr", code);
        }
    }
}

// SAFETY: libibverbs' functions may be called from any thread at once, and the buffer is only accessed atomically.
unsafe impl Send for RegionHandle {}
// SAFETY: likewise.
unsafe impl Sync for RegionHandle {}
