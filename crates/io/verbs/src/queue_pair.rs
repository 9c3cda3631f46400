//! A reliable connection's end. It is made, told of its peer, and only then able to send: each is a type of its own.

mod handle;
mod initialised;
mod ready_to_receive;
mod ready_to_send;

use std::marker::PhantomData;

use crosstie_verbs_abi as abi;

use crate::{error::PostError, work::ReceiveList};
use handle::PairHandle;

/// A queue pair in a state. Receives may be posted in each, sends only in [`ReadyToSend`].
#[derive(Debug)]
pub struct QueuePair<State> {
    handle: PairHandle,
    state: PhantomData<State>,
}

/// It knows its port, and no peer.
#[derive(Debug)]
pub enum Initialised {}

/// It knows its peer and takes what it sends.
#[derive(Debug)]
pub enum ReadyToReceive {}

#[derive(Debug)]
pub enum ReadyToSend {}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueuePairOptions {
    /// Work requests that may be under way.
    pub send_depth: u32,
    pub receive_depth: u32,
    /// The longest message whose bytes are copied when it is posted; devices allow a few hundred.
    pub inline_bytes: u32,
}

/// How the way to the peer is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathOptions {
    /// A packet is sent again after 4.096 µs · 2^this without an acknowledgement; 1 to 31. Devices round it up.
    pub timeout: u8,
    /// How often it is sent again; 0 to 7.
    pub retry_count: u8,
    /// InfiniBand's service level; 0 to 15.
    pub service_level: u8,
    /// RoCE's IP traffic class, by which switches tell lossless traffic.
    pub traffic_class: u8,
    /// RDMA reads under way at once, at most what the peer answers.
    pub reads: u8,
}

impl<State> QueuePair<State> {
    /// Its number, by which completions name it.
    pub fn number(&self) -> u32 {
        self.handle.number
    }

    /// The longest message that may be inline.
    pub fn inline_bytes(&self) -> u32 {
        self.handle.capabilities.max_inline_data
    }

    /// Posts all of a list's receives. They are used up in their order.
    pub fn post_receive(&mut self, list: &mut ReceiveList) -> Result<(), PostError> {
        let mut refused = std::ptr::null_mut();
        let post = self.handle.operations.post_receive;
        // SAFETY: a queue pair that has not been destroyed, and a list whose requests, elements and memory live.
        let code = unsafe { post(self.handle.raw.as_ptr(), list.head(), &raw mut refused) };
        if code == 0 {
            return Ok(());
        }
        Err(self
            .handle
            .post_error(code, "ibv_post_recv", list.index_of(refused)))
    }

    fn become_state<Next>(self) -> QueuePair<Next> {
        QueuePair {
            handle: self.handle,
            state: PhantomData,
        }
    }
}

const READ_AND_WRITE: u32 = abi::ACCESS_REMOTE_READ | abi::ACCESS_REMOTE_WRITE;
