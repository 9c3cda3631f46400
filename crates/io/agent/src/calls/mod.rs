//! One file a call.

pub(crate) mod cabling;
pub(crate) mod change;
pub(crate) mod collect;
pub(crate) mod counters;
pub(crate) mod engine;
pub(crate) mod hello;
pub(crate) mod peer_tool;
pub(crate) mod rdma;
pub(crate) mod reach;
pub(crate) mod tcp;
pub(crate) mod trust;
