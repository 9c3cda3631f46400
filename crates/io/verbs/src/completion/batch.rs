//! Completions that were polled at once.

use crosstie_verbs_abi::{self as abi, ZeroableType};

use crate::{error::CompletionError, status::CompletionStatus};

/// How one work request ended.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub struct Completion(abi::WorkCompletion);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompletionKind {
    Send,
    Write,
    Read,
    Receive,
    /// A peer's write with an immediate value used up this receive.
    ReceiveOfWrite,
    Unknown(u32),
}

impl Completion {
    /// The number that the work request was given.
    #[inline]
    pub fn identifier(&self) -> u64 {
        self.0.wr_id
    }

    #[inline]
    pub fn queue_pair(&self) -> u32 {
        self.0.qp_num
    }

    #[inline]
    pub fn is_success(&self) -> bool {
        self.0.status == abi::STATUS_SUCCESS
    }

    /// An error where the work request failed; the rest of this completion then has no meaning.
    #[inline]
    pub fn result(&self) -> Result<(), CompletionError> {
        if self.is_success() {
            return Ok(());
        }
        Err(self.error())
    }

    #[cold]
    fn error(&self) -> CompletionError {
        CompletionError {
            identifier: self.0.wr_id,
            queue_pair: self.0.qp_num,
            status: CompletionStatus(self.0.status),
            vendor: self.0.vendor_err,
        }
    }

    pub fn kind(&self) -> CompletionKind {
        match self.0.opcode {
            abi::COMPLETED_SEND => CompletionKind::Send,
            abi::COMPLETED_WRITE => CompletionKind::Write,
            abi::COMPLETED_READ => CompletionKind::Read,
            abi::COMPLETED_RECEIVE => CompletionKind::Receive,
            abi::COMPLETED_RECEIVE_WITH_IMMEDIATE => CompletionKind::ReceiveOfWrite,
            code => CompletionKind::Unknown(code),
        }
    }

    /// Bytes of a receive or a read.
    pub fn length(&self) -> u32 {
        self.0.byte_len
    }

    #[inline]
    pub fn immediate(&self) -> Option<u32> {
        let has_one = self.0.wc_flags & abi::COMPLETION_HAS_IMMEDIATE != 0;
        has_one.then(|| u32::from_be(self.0.imm_data))
    }
}

/// Whether all have succeeded. Looking at all of them so takes less time than deciding at each.
#[inline]
pub fn all_succeeded(completions: &[Completion]) -> bool {
    let failed = |seen, one: &Completion| seen | (one.0.status ^ abi::STATUS_SUCCESS);
    completions.iter().fold(0, failed) == 0
}

/// Room for completions, made once and polled into again and again.
#[derive(Debug)]
pub struct CompletionBatch {
    entries: Vec<Completion>,
    /// As `ibv_poll_cq` wants it.
    room: i32,
}

impl CompletionBatch {
    /// At least one.
    pub fn new(room: u16) -> Self {
        let room = room.max(1);
        Self {
            entries: vec![Completion(abi::WorkCompletion::ZEROED); room.into()],
            room: room.into(),
        }
    }

    #[inline]
    pub(super) fn room(&self) -> i32 {
        self.room
    }

    #[inline]
    pub(super) fn start(&mut self) -> *mut abi::WorkCompletion {
        self.entries.as_mut_ptr().cast()
    }

    #[inline]
    pub(super) fn first(&self, count: usize) -> &[Completion] {
        &self.entries[..count.min(self.entries.len())]
    }
}
