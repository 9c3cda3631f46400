//! Time that nobody corrects.

use nix::time::{ClockId, clock_gettime};

/// Nanoseconds since some moment; NTP neither sets nor stretches them.
#[inline]
pub(crate) fn now() -> u64 {
    nanoseconds(ClockId::CLOCK_MONOTONIC_RAW)
}

/// Nanoseconds that this thread has run.
pub(crate) fn processor_time() -> u64 {
    nanoseconds(ClockId::CLOCK_THREAD_CPUTIME_ID)
}

/// The C library's, since valgrind hides what rustix's looks for.
#[inline]
fn nanoseconds(clock: ClockId) -> u64 {
    // Every kernel that we run on has both.
    clock_gettime(clock).map_or(0, |time| {
        // Neither is negative on these clocks.
        time.tv_sec().cast_unsigned() * 1_000_000_000 + time.tv_nsec().cast_unsigned()
    })
}
