//! What is sent to a peer, written to it, or read from it.

use crosstie_verbs_abi::{self as abi, Plain};

use super::array::Array;
use crate::{
    endpoint::RemoteMemory,
    error::{OutOfRange, WorkError},
    memory::MemorySpan,
};

#[derive(Debug, Clone)]
pub struct SendRequest {
    /// By which its completion is told from others.
    pub identifier: u64,
    /// What is sent; for a read, where it is put.
    pub local: MemorySpan,
    pub operation: Operation,
    /// Whether it makes a completion when it succeeds. One that fails always does.
    pub signalled: bool,
    /// Whether its bytes are copied when it is posted.
    pub inline: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
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
    requests: Array<abi::SendRequest>,
    elements: Array<abi::ScatterElement>,
    /// Keeps the memory, and its bounds.
    described: Vec<SendRequest>,
}

impl SendList {
    pub fn new(requests: Vec<SendRequest>) -> Result<Self, WorkError> {
        let count = requests.len();
        let mut list = Self {
            requests: Array::filled(abi::SendRequest::ZEROED, count).ok_or(WorkError::Empty)?,
            elements: Array::filled(abi::ScatterElement::ZEROED, count).ok_or(WorkError::Empty)?,
            described: requests,
        };
        for index in 0..count {
            list.fill(index)?;
        }
        Ok(list)
    }

    pub fn length(&self) -> usize {
        self.requests.len()
    }

    fn fill(&mut self, index: usize) -> Result<(), WorkError> {
        let request = &self.described[index];
        let out_of_range = |source| WorkError::OutOfRange { index, source };
        let (opcode, remote, immediate) = request.operation.parts();
        if opcode == abi::OPCODE_READ && request.inline {
            return Err(WorkError::InlineRead(index));
        }
        let remote_addr = match remote {
            Some((memory, offset)) => memory
                .address_of(offset, request.local.length)
                .map_err(out_of_range)?,
            None => 0,
        };
        let next = if index + 1 < self.requests.len() {
            self.requests.at(index + 1)
        } else {
            std::ptr::null_mut()
        };
        let filled = abi::SendRequest {
            wr_id: request.identifier,
            next,
            sg_list: self.elements.at(index),
            num_sge: i32::from(request.local.length > 0),
            opcode,
            send_flags: request.flags(),
            imm_data: immediate.to_be(),
            remote_addr,
            rkey: remote.map_or(0, |(memory, _)| memory.key),
            ..abi::SendRequest::ZEROED
        };
        // SAFETY: elements of arrays that this list owns, and to which there are no references.
        unsafe {
            self.elements.at(index).write(request.local.element());
            self.requests.at(index).write(filled);
        }
        Ok(())
    }

    /// Whether request `index` makes a completion when it succeeds.
    ///
    /// # Panics
    ///
    /// If the list has no request `index`; likewise below.
    #[inline]
    pub fn set_signalled(&mut self, index: usize, signalled: bool) {
        let request = self.requests.at(index);
        let flag = if signalled { abi::SEND_SIGNALLED } else { 0 };
        // SAFETY: an element of an array that this list owns, and to which there are no references.
        unsafe { (*request).send_flags = (*request).send_flags & !abi::SEND_SIGNALLED | flag };
    }

    #[inline]
    pub fn set_identifier(&mut self, index: usize, identifier: u64) {
        // SAFETY: as above.
        unsafe { (*self.requests.at(index)).wr_id = identifier };
    }

    #[inline]
    pub fn set_immediate(&mut self, index: usize, immediate: u32) {
        // SAFETY: as above.
        unsafe { (*self.requests.at(index)).imm_data = immediate.to_be() };
    }

    /// Moves request `index` to other offsets of the same regions.
    #[inline]
    pub fn move_to(&mut self, index: usize, local: usize, remote: u64) -> Result<(), OutOfRange> {
        let request = &self.described[index];
        let length = request.local.length;
        request.local.region.check(local, length as usize)?;
        let address = request.local.region.address_of(local);
        let remote = match request.operation.parts().1 {
            Some((memory, _)) => memory.address_of(remote, length)?,
            None => 0,
        };
        // SAFETY: as above.
        unsafe {
            (*self.elements.at(index)).addr = address;
            (*self.requests.at(index)).remote_addr = remote;
        }
        Ok(())
    }

    #[inline]
    pub(crate) fn first(&mut self) -> *mut abi::SendRequest {
        self.requests.start()
    }

    pub(crate) fn index_of(&self, request: *mut abi::SendRequest) -> usize {
        self.requests.index_of(request)
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

impl Operation {
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
