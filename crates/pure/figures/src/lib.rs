//! What engines measure, whatever moves the bytes: counts of bytes, messages and nanoseconds, windows of a tenth of a
//! second, histograms. Integers, so that nothing is lost on the way to whoever computes with them.

mod bandwidth;
mod histogram;
mod meter;
mod times;

pub use bandwidth::{Bandwidth, Latency, Progress};
pub use histogram::Histogram;
pub use meter::{Meter, WINDOW_NANOSECONDS};
pub use times::{Times, nanoseconds};
