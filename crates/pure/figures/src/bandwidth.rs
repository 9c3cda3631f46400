//! What was measured, and what is told meanwhile.

use serde::{Deserialize, Serialize};

use crate::histogram::Histogram;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeasuredBandwidth {
    /// Bytes of a message, and how many were under way on a queue pair: what was really used.
    pub size: u32,
    pub depth: u32,
    /// Of messages that the peer has acknowledged within the time below.
    pub bytes: u64,
    /// Of the whole test, warm-up and cool-down included: what ports have counted, less headers.
    pub whole_bytes: u64,
    pub messages: u64,
    pub nanoseconds: u64,
    /// Bytes of each window in turn, so that a dip can be seen; the last one is left out if it is not whole.
    pub windows: Vec<u64>,
    pub window_nanoseconds: u64,
    /// What the thread that counts used of its core in that time.
    pub processor_nanoseconds: u64,
    /// Whether it ran as long as it was asked to.
    pub complete: bool,
}

impl MeasuredBandwidth {
    /// Bytes of the worst window.
    pub fn worst_window(&self) -> Option<u64> {
        self.windows.iter().copied().min()
    }

    /// Of several that ran beside each other over the same time: streams, or queue pairs. `None` without any.
    pub fn sum(all: impl IntoIterator<Item = Self>) -> Option<Self> {
        let all: Vec<Self> = all.into_iter().collect();
        // Nobody counts beyond its end. One that ended early has moved nothing for the rest of the time.
        let whole = all.iter().filter(|one| one.complete);
        let whole = whole.map(|one| one.windows.len()).min();
        let longest = all.iter().map(|one| one.windows.len()).max();
        let mut windows = vec![0; whole.or(longest)?];
        for one in &all {
            for (window, bytes) in windows.iter_mut().zip(&one.windows) {
                *window += bytes;
            }
        }
        let sum = all.into_iter().reduce(|mut sum, one| {
            sum.bytes += one.bytes;
            sum.whole_bytes += one.whole_bytes;
            sum.messages += one.messages;
            sum.nanoseconds = sum.nanoseconds.max(one.nanoseconds);
            sum.processor_nanoseconds += one.processor_nanoseconds;
            sum.complete &= one.complete;
            sum
        })?;
        Some(Self { windows, ..sum })
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeasuredLatency {
    /// Nanoseconds of half a round trip: one way, as perftest has it.
    pub half_round_trips: Histogram,
    /// Whether it ran as long as it was asked to.
    pub complete: bool,
}

/// What is told meanwhile; may be dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestProgress {
    /// Since the test began, warm-up included.
    pub elapsed_nanoseconds: u64,
    /// Of messages acknowledged, or messages that came back, since then.
    pub bytes: u64,
    pub messages: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_add_up_window_by_window() {
        let one = |bytes: u64, windows: &[u64], complete| MeasuredBandwidth {
            size: 1,
            depth: 1,
            bytes,
            whole_bytes: bytes,
            messages: 1,
            nanoseconds: bytes,
            windows: windows.to_vec(),
            window_nanoseconds: 100,
            processor_nanoseconds: 7,
            complete,
        };
        let sum =
            MeasuredBandwidth::sum([one(30, &[1, 2, 3], true), one(20, &[4, 5], false)]).unwrap();
        assert_eq!((sum.bytes, sum.messages, sum.nanoseconds), (50, 2, 30));
        assert_eq!(sum.windows, [5, 7, 3], "one moved nothing in the last");
        assert_eq!((sum.processor_nanoseconds, sum.complete), (14, false));
        let sum = MeasuredBandwidth::sum([one(30, &[1, 2, 3], true), one(40, &[4, 5, 6, 7], true)]);
        let windows = sum.unwrap().windows;
        assert_eq!(windows, [5, 7, 9], "one did not count any longer");
        let sum = MeasuredBandwidth::sum([one(0, &[], false), one(40, &[4, 5], true)]);
        assert_eq!(sum.unwrap().worst_window(), Some(4));
        assert_eq!(MeasuredBandwidth::sum([]), None);
    }
}
