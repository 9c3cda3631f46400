//! Time that nobody corrects.

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds since some moment; NTP neither sets nor stretches them.
#[inline]
pub(crate) fn now() -> u64 {
    nanoseconds(ClockId::MonotonicRaw)
}

/// Nanoseconds that this thread has run.
pub(crate) fn processor_time() -> u64 {
    nanoseconds(ClockId::ThreadCPUTime)
}

fn nanoseconds(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    // Neither is negative on these clocks.
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}
