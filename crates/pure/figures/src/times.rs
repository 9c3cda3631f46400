//! How long a test takes.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// In milliseconds. What happens in the first and the last is not measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TestTimes {
    pub warm_up: u32,
    pub measure: u32,
    /// While the other pairs of a run still measure.
    pub cool_down: u32,
    /// Without any completion, the peer is taken to be gone.
    pub silence: u32,
}

impl TestTimes {
    pub fn silence(&self) -> Duration {
        Duration::from_millis(self.silence.into())
    }

    /// From the first message to the last.
    pub fn running(&self) -> Duration {
        let sum: u64 = [self.warm_up, self.measure, self.cool_down]
            .into_iter()
            .map(u64::from)
            .sum();
        Duration::from_millis(sum)
    }
}

pub const fn nanoseconds(milliseconds: u32) -> u64 {
    milliseconds as u64 * 1_000_000
}
