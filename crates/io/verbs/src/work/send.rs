//! What is sent to a peer, written to it, or read from it.

use std::marker::PhantomData;

use crosstie_verbs_abi::{self as abi, ZeroableType};

use super::array::PinnedArray;
use crate::{
    endpoint::RemoteMemory,
    error::{OutOfRange, WorkListError},
    memory::{MemoryRegion, MemorySpan},
};

#[derive(Debug, Clone)]
pub struct SendRequest {
    /// By which its completion is told from others.
    pub identifier: u64,
    /// What is sent; for a read, where it is put.
    pub local: MemorySpan,
    pub operation: SendOperation,
    /// Whether it makes a completion when it succeeds. One that fails always does.
    pub signalled: bool,
    /// Whether its bytes are copied when it is posted.
    pub inline: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SendOperation {
    Write {
        to: RemoteMemory,
        offset: u64,
    },
    /// Uses up a receive of the peer's, which gets the value.
    WriteWithImmediate {
        to: RemoteMemory,
        offset: u64,
        immediate: u32,
    },
    Read {
        from: RemoteMemory,
        offset: u64,
    },
    Send,
    SendWithImmediate {
        immediate: u32,
    },
}

/// Work requests in a row, posted with one call.
#[derive(Debug)]
pub struct SendList {
    /// Close together, since the driver goes from each to the next.
    requests: PinnedArray<abi::SendRequest>,
    slots: PinnedArray<Slot>,
    /// Their memory, which must not go before them.
    _regions: Vec<MemoryRegion>,
}

/// What a request needs besides.
#[derive(Debug, Clone, Copy)]
struct Slot {
    element: abi::ScatterElement,
    local: Bounds,
    remote: Bounds,
    /// Its flags when it makes no completion; kept apart so that changing them waits for no earlier change.
    unsignalled_flags: u32,
}

/// Where a message may begin.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    /// The region's first byte.
    start: u64,
    /// The last offset at which the whole message is within the region.
    last: u64,
}

/// A request of a list, to be changed before the list is posted again.
#[derive(Debug)]
pub struct PreparedSend<'list> {
    request: *mut abi::SendRequest,
    slot: *mut Slot,
    list: PhantomData<&'list mut SendList>,
}

impl SendList {
    pub fn new(requests: Vec<SendRequest>) -> Result<Self, WorkListError> {
        let count = requests.len();
        let slots = PinnedArray::filled(Slot::EMPTY, count).ok_or(WorkListError::Empty)?;
        let filled =
            PinnedArray::filled(abi::SendRequest::ZEROED, count).ok_or(WorkListError::Empty)?;
        let mut next = std::ptr::null_mut();
        for (index, described) in requests.iter().enumerate().rev() {
            let (mut request, slot) = fill(described, index)?;
            let place = slots.at(index);
            // SAFETY: elements of arrays that are ours, and to which there are no references.
            unsafe {
                place.write(slot);
                request.sg_list = &raw mut (*place).element;
                request.next = next;
                next = filled.at(index);
                next.write(request);
            }
        }
        let regions = requests.into_iter().map(|request| request.local.region);
        Ok(Self {
            requests: filled,
            slots,
            _regions: regions.collect(),
        })
    }

    pub fn length(&self) -> usize {
        self.requests.len()
    }

    /// The requests in their order.
    #[inline]
    pub fn requests(&mut self) -> impl Iterator<Item = PreparedSend<'_>> {
        let pointers = self.requests.pointers().zip(self.slots.pointers());
        pointers.map(|(request, slot)| PreparedSend {
            request,
            slot,
            list: PhantomData,
        })
    }

    /// The first request, which every list has.
    #[inline]
    pub fn first(&mut self) -> PreparedSend<'_> {
        PreparedSend {
            request: self.requests.start(),
            slot: self.slots.start(),
            list: PhantomData,
        }
    }

    #[inline]
    pub(crate) fn head(&mut self) -> *mut abi::SendRequest {
        self.requests.start()
    }

    pub(crate) fn index_of(&self, request: *mut abi::SendRequest) -> usize {
        self.requests.index_of(request)
    }
}

impl PreparedSend<'_> {
    /// Moves it to other offsets of the same regions.
    #[inline]
    pub fn move_to(&mut self, local: u64, remote: u64) -> Result<(), OutOfRange> {
        // SAFETY: a slot of a list that is borrowed meanwhile, and to which there are no references; likewise below.
        unsafe {
            let slot = self.slot;
            if local > (*slot).local.last || remote > (*slot).remote.last {
                return Err(self.out_of_range(local, remote));
            }
            (*slot).element.addr = (*slot).local.start + local;
            (*self.request).remote_addr = (*slot).remote.start + remote;
        }
        Ok(())
    }

    #[cold]
    fn out_of_range(&self, local: u64, remote: u64) -> OutOfRange {
        // SAFETY: as above.
        let slot = unsafe { self.slot.read() };
        let (bounds, offset) = if local > slot.local.last {
            (slot.local, local)
        } else {
            (slot.remote, remote)
        };
        let length = u64::from(slot.element.length);
        OutOfRange {
            offset,
            length,
            region: bounds.last.saturating_add(length),
        }
    }

    /// Whether it makes a completion when it succeeds.
    #[inline]
    pub fn set_signalled(&mut self, signalled: bool) {
        let flag = if signalled { abi::SEND_SIGNALLED } else { 0 };
        // SAFETY: as above.
        unsafe {
            (*self.request).send_flags = (*self.slot).unsignalled_flags | flag;
        }
    }

    #[inline]
    pub fn set_identifier(&mut self, identifier: u64) {
        // SAFETY: as above.
        unsafe { (*self.request).wr_id = identifier };
    }

    #[inline]
    pub fn set_immediate(&mut self, immediate: u32) {
        // SAFETY: as above.
        unsafe { (*self.request).imm_data = immediate.to_be() };
    }
}

impl Slot {
    const EMPTY: Self = Self {
        element: abi::ScatterElement::ZEROED,
        local: Bounds { start: 0, last: 0 },
        remote: Bounds { start: 0, last: 0 },
        unsignalled_flags: 0,
    };
}

/// All but the pointers to others.
fn fill(described: &SendRequest, index: usize) -> Result<(abi::SendRequest, Slot), WorkListError> {
    let (opcode, remote, immediate) = described.operation.parts();
    if opcode == abi::OPCODE_READ && described.inline {
        return Err(WorkListError::InlineRead(index));
    }
    let span = &described.local;
    let length = u64::from(span.length);
    let (remote_addr, rkey, bounds) = match remote {
        Some((memory, offset)) => {
            let address = memory.address_of(offset, span.length);
            let address = address.map_err(|source| WorkListError::OutOfRange { index, source })?;
            let bounds = Bounds::new(memory.address, memory.length, length);
            (address, memory.key, bounds)
        }
        // No remote address: any offset is as good as none.
        None => (0, 0, Bounds::new(0, u64::MAX, 0)),
    };
    let request = abi::SendRequest {
        wr_id: described.identifier,
        num_sge: i32::from(span.length > 0),
        opcode,
        send_flags: described.flags(),
        imm_data: immediate.to_be(),
        remote_addr,
        rkey,
        ..abi::SendRequest::ZEROED
    };
    let region = &span.region;
    let slot = Slot {
        element: span.element(),
        local: Bounds::new(region.address_of(0), region.length() as u64, length),
        remote: bounds,
        unsignalled_flags: described.flags() & !abi::SEND_SIGNALLED,
    };
    Ok((request, slot))
}

impl Bounds {
    /// The message was seen to fit into the region.
    fn new(start: u64, region: u64, message: u64) -> Self {
        Self {
            start,
            last: region.saturating_sub(message).min(u64::MAX - start),
        }
    }
}

impl SendRequest {
    fn flags(&self) -> u32 {
        let signalled = if self.signalled {
            abi::SEND_SIGNALLED
        } else {
            0
        };
        let inline = if self.inline { abi::SEND_INLINE } else { 0 };
        signalled | inline
    }
}

impl SendOperation {
    fn parts(&self) -> (u32, Option<(&RemoteMemory, u64)>, u32) {
        match self {
            Self::Write { to, offset } => (abi::OPCODE_WRITE, Some((to, *offset)), 0),
            Self::WriteWithImmediate {
                to,
                offset,
                immediate,
            } => (
                abi::OPCODE_WRITE_WITH_IMMEDIATE,
                Some((to, *offset)),
                *immediate,
            ),
            Self::Read { from, offset } => (abi::OPCODE_READ, Some((from, *offset)), 0),
            Self::Send => (abi::OPCODE_SEND, None, 0),
            Self::SendWithImmediate { immediate } => {
                (abi::OPCODE_SEND_WITH_IMMEDIATE, None, *immediate)
            }
        }
    }
}

impl MemorySpan {
    pub(super) fn element(&self) -> abi::ScatterElement {
        abi::ScatterElement {
            addr: self.region.address_of(self.offset),
            length: self.length,
            lkey: self.region.local_key(),
        }
    }
}
