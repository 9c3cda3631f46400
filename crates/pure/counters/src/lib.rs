//! Counters of ports before and after a run: what grew, what it means, and whether their bytes agree with the engine's.

mod bytes;
mod growth;
mod meaning;
mod reading;

pub use bytes::{ByteCountMismatch, PayloadTraffic, TrafficCarrier, compare};
pub use growth::{CounterChange, CounterChanges, counter_changes};
pub use meaning::{CounterMeaning, CounterSeverity, counter_meaning};
pub use reading::{CounterGroup, CounterName, CounterPort, CounterReading};
