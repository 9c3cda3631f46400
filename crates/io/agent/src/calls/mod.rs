//! One file a call.

pub(crate) mod cabling;
pub(crate) mod change;
pub(crate) mod collect;
pub(crate) mod hello;
pub(crate) mod rdma;
pub(crate) mod reach;
pub(crate) mod trust;
pub(crate) mod trust_lease;
