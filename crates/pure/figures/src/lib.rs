//! What engines measure, whatever moves the bytes: counts of bytes, messages and nanoseconds, windows of a tenth of a
//! second, histograms. Integers, so that nothing is lost on the way to whoever computes with them.

mod bandwidth;
mod histogram;
mod meter;
mod times;

pub use bandwidth::{MeasuredBandwidth, MeasuredLatency, TestProgress};
pub use histogram::Histogram;
pub use meter::{BandwidthMeter, WINDOW_NANOSECONDS};
pub use times::{TestTimes, nanoseconds};
