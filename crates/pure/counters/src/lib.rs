//! Counters of ports before and after a run: what grew, what it means, and whether their bytes agree with the engine's.

mod bytes;
mod growth;
mod meaning;
mod reading;

pub use bytes::{Carrier, Disagreement, Traffic, compare};
pub use growth::{Change, Growth, growth};
pub use meaning::{Meaning, Severity, meaning};
pub use reading::{Counter, CounterReading, Group, PortName};
