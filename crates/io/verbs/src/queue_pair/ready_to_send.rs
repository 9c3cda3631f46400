//! Posting work, and ending it.

use crosstie_verbs_abi::{self as abi, ZeroableType};

use super::{QueuePair, ReadyToSend};
use crate::{
    call::failed,
    error::{PostError, VerbsCallError},
    work::SendList,
};

impl QueuePair<ReadyToSend> {
    /// Posts all of a list's work requests, with one doorbell where the driver can. Nothing is allocated.
    #[inline]
    pub fn post_send(&mut self, list: &mut SendList) -> Result<(), PostError> {
        let mut refused = std::ptr::null_mut();
        let post = self.handle.operations.post_send;
        // SAFETY: a queue pair that has not been destroyed, and a list whose requests, elements and memory live; the
        // driver reads the first two, and inline bytes, before it returns.
        let code = unsafe { post(self.handle.raw.as_ptr(), list.head(), &raw mut refused) };
        if code == 0 {
            return Ok(());
        }
        Err(self
            .handle
            .post_error(code, "ibv_post_send", list.index_of(refused)))
    }

    /// Ends whatever is under way: all of it completes as flushed, as does what is posted from now on.
    pub fn end_work(&mut self) -> Result<(), VerbsCallError> {
        let mut attributes = abi::QueuePairAttributes {
            qp_state: abi::STATE_ERROR,
            ..abi::QueuePairAttributes::ZEROED
        };
        self.handle
            .modify(&mut attributes, abi::SET_STATE)
            .map_err(failed(self.handle.device(), "ibv_modify_qp to ERR"))
    }
}
