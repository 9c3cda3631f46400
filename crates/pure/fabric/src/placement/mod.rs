//! Where an engine that measures should run, and how much memory it may take: decided here, read elsewhere.

mod memory;
mod processors;

pub use memory::{MemoryBudget, MemoryLimit, MemoryLimits};
pub use processors::{Processor, ThreadPlacement, place};
