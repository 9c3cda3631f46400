//! Where what a peer sends is put.

use crosstie_verbs_abi::{self as abi, ZeroableType};

use super::array::PinnedArray;
use crate::{error::WorkListError, memory::MemorySpan};

/// Receives in a row, posted with one call.
#[derive(Debug)]
pub struct ReceiveList {
    requests: PinnedArray<abi::ReceiveRequest>,
    _elements: PinnedArray<abi::ScatterElement>,
    _memory: Vec<(u64, MemorySpan)>,
}

impl ReceiveList {
    /// Each with the identifier by which its completion is told from others. A span of no bytes takes messages without
    /// bytes, and writes with an immediate value.
    pub fn new(receives: Vec<(u64, MemorySpan)>) -> Result<Self, WorkListError> {
        let count = receives.len();
        let requests =
            PinnedArray::filled(abi::ReceiveRequest::ZEROED, count).ok_or(WorkListError::Empty)?;
        let elements =
            PinnedArray::filled(abi::ScatterElement::ZEROED, count).ok_or(WorkListError::Empty)?;
        let mut next = std::ptr::null_mut();
        for (index, (identifier, span)) in receives.iter().enumerate().rev() {
            let request = abi::ReceiveRequest {
                wr_id: *identifier,
                next,
                sg_list: elements.at(index),
                num_sge: i32::from(span.length > 0),
            };
            next = requests.at(index);
            // SAFETY: elements of arrays that this list owns, and to which there are no references.
            unsafe {
                elements.at(index).write(span.element());
                next.write(request);
            }
        }
        Ok(Self {
            requests,
            _elements: elements,
            _memory: receives,
        })
    }

    pub fn length(&self) -> usize {
        self.requests.len()
    }

    #[inline]
    pub(crate) fn head(&mut self) -> *mut abi::ReceiveRequest {
        self.requests.start()
    }

    pub(crate) fn index_of(&self, request: *mut abi::ReceiveRequest) -> usize {
        self.requests.index_of(request)
    }
}
