//! How much memory buffers may take.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What a machine lets a process have, in bytes; `None` where it is unlimited or not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MemoryLimits {
    /// That could be had without swapping.
    pub free: Option<u64>,
    /// That may be locked, which registering does.
    pub locked: Option<u64>,
    /// Left of what its control groups may have.
    pub control_group: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MemoryLimit {
    Free,
    Locked,
    ControlGroup,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryBudget {
    pub bytes: u64,
    pub limit: MemoryLimit,
}

impl MemoryLimits {
    /// The share of one of `count` that run at once. Half of what is free stays free, since a machine whose GPU shares the
    /// memory freezes without it; a quarter of what may be locked stays for the driver's queues.
    pub fn budget(&self, count: usize) -> Option<MemoryBudget> {
        let count = count.max(1) as u64;
        let all = [
            (self.free.map(|bytes| bytes / 2), MemoryLimit::Free),
            (self.locked.map(|bytes| bytes / 4 * 3), MemoryLimit::Locked),
            (
                self.control_group.map(|bytes| bytes / 2),
                MemoryLimit::ControlGroup,
            ),
        ];
        let known = all.into_iter().filter_map(|(bytes, limit)| {
            let bytes = bytes? / count;
            Some(MemoryBudget { bytes, limit })
        });
        known.min_by_key(|budget| budget.bytes)
    }
}

impl fmt::Display for MemoryLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Free => "half of the free memory",
            Self::Locked => "the limit on locked memory (`ulimit -l`)",
            Self::ControlGroup => "the memory limit of its control group",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tightest_limit_counts_and_is_shared() {
        let mut limits = MemoryLimits {
            free: Some(8 << 30),
            locked: None,
            control_group: None,
        };
        let budget = |limits: MemoryLimits, count| limits.budget(count).unwrap();
        assert_eq!(budget(limits, 2).bytes, 2 << 30);
        assert_eq!(budget(limits, 2).limit, MemoryLimit::Free);
        limits.locked = Some(8 << 20);
        assert_eq!(
            budget(limits, 1),
            MemoryBudget {
                bytes: 6 << 20,
                limit: MemoryLimit::Locked
            }
        );
        limits.control_group = Some(1 << 20);
        assert_eq!(budget(limits, 0).limit, MemoryLimit::ControlGroup);
        assert_eq!(MemoryLimits::default().budget(1), None);
    }
}
