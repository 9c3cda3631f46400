//! One file a call.

pub(crate) mod cabling;
pub(crate) mod change;
pub(crate) mod collect;
pub(crate) mod comparison_tool;
pub(crate) mod counters;
pub(crate) mod hello;
pub(crate) mod home_lease;
pub(crate) mod job;
pub(crate) mod reachability;
pub(crate) mod test;
pub(crate) mod trust;
