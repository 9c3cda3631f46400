//! What the messages of one size need.

use crosstie_fabric::placement::MemoryBudget;
use crosstie_model::Bytes;
use serde::{Deserialize, Serialize};

use crate::{
    error::RdmaRequestError,
    request::{RdmaOpenRequest, RdmaTest},
};

/// Short messages go round in so many bytes, as perftest's do: another cache line each, all of them in the cache.
const CYCLE_BYTES: u32 = 4096;
/// Where every byte is looked at, so much is sent before it is. Little, so that the other end hears of us in between.
const VERIFY_BYTES: u32 = 256 << 10;
const CACHE_LINE: u32 = 64;
/// Under way on a queue pair, in bytes: forty times what is on its way at 400 Gb/s and 10 µs. More would only take longer to
/// arrive after the end.
const MOST_UNDER_WAY: u32 = 16 << 20;
/// The shortest that a message is cut down to.
const LEAST_SIZE: u32 = 64;

/// Buffers that had to be smaller than what was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryCap {
    /// Bytes of a message.
    pub asked: u32,
    pub granted: u32,
    pub budget: MemoryBudget,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct SizePlan {
    pub(crate) size: u32,
    pub(crate) depth: u32,
    pub(crate) list: u32,
    pub(crate) signal_every: u32,
    pub(crate) layout: BufferLayout,
}

impl SizePlan {
    fn new(request: &RdmaOpenRequest, size: u32) -> Result<Self, RdmaRequestError> {
        let fitting = (MOST_UNDER_WAY / size).max(2);
        let depth = request.depth.min(1 << fitting.ilog2());
        let layout = BufferLayout::new(request, size, depth)?;
        if let RdmaTest::Verify { .. } = request.test {
            // A round at a time, each of its messages with a completion.
            return Ok(Self {
                size,
                depth: layout.slots,
                list: 1,
                signal_every: 1,
                layout,
            });
        }
        let list = request.list.min(depth);
        let usual = RdmaOpenRequest::usual_signal_every(size, depth);
        let signal_every = request.signal_every.unwrap_or(usual).min(depth);
        Ok(Self {
            size,
            depth,
            list,
            signal_every,
            layout,
        })
    }

    /// One a size, none of them longer than `longest`.
    pub(crate) fn all(
        request: &RdmaOpenRequest,
        longest: u32,
    ) -> Result<Vec<Self>, RdmaRequestError> {
        let mut sizes: Vec<u32> = request
            .sizes
            .iter()
            .map(|size| *size.min(&longest))
            .collect();
        sizes.dedup();
        sizes
            .into_iter()
            .map(|size| Self::new(request, size))
            .collect()
    }
}

/// Bytes that all of the plans need.
pub(crate) fn bytes_of(plans: &[SizePlan]) -> u64 {
    let all = plans.iter().map(|plan| plan.layout.bytes());
    all.max().unwrap_or(0)
}

/// The plans that the budget allows, and whether that is less than was asked for.
pub(crate) fn within(
    request: &RdmaOpenRequest,
    budget: Option<MemoryBudget>,
) -> Result<(Vec<SizePlan>, Option<MemoryCap>), RdmaRequestError> {
    let asked = request.sizes.iter().copied().max().unwrap_or(0);
    let plans = SizePlan::all(request, asked)?;
    let Some(budget) = budget.filter(|budget| bytes_of(&plans) > budget.bytes) else {
        return Ok((plans, None));
    };
    let mut granted = 1 << asked.ilog2();
    while granted >= LEAST_SIZE {
        let plans = SizePlan::all(request, granted)?;
        if bytes_of(&plans) <= budget.bytes {
            let cap = MemoryCap {
                asked,
                granted,
                budget,
            };
            return Ok((plans, Some(cap)));
        }
        granted /= 2;
    }
    Err(RdmaRequestError::NoMemory {
        queue_pairs: request.queue_pairs,
        bytes: Bytes(budget.bytes),
        limit: budget.limit,
    })
}

/// Where the messages of a queue pair lie. Both ends have the same: sources first, then what the peer writes to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BufferLayout {
    stride: u32,
    /// Messages of the cycle; a power of two.
    slots: u32,
    queue_pairs: u16,
}

impl BufferLayout {
    fn new(request: &RdmaOpenRequest, size: u32, depth: u32) -> Result<Self, RdmaRequestError> {
        let too_large = RdmaRequestError::TooLarge {
            queue_pairs: request.queue_pairs,
            size,
        };
        let stride = size.checked_next_multiple_of(CACHE_LINE).ok_or(too_large)?;
        let fitting = match request.test {
            RdmaTest::Bandwidth { .. } | RdmaTest::Latency { .. } => CYCLE_BYTES / stride,
            RdmaTest::Verify { .. } => (VERIFY_BYTES / stride).min(depth),
        };
        Ok(Self {
            stride,
            slots: 1 << fitting.max(1).ilog2(),
            queue_pairs: request.queue_pairs,
        })
    }

    pub(crate) fn slots(self) -> u32 {
        self.slots
    }

    /// Bytes of a queue pair's sources, and of its targets.
    fn of_pair(self) -> u64 {
        u64::from(self.stride) * u64::from(self.slots)
    }

    pub(crate) fn bytes(self) -> u64 {
        2 * self.of_pair() * u64::from(self.queue_pairs)
    }

    pub(crate) fn source(self, pair: usize, slot: u32) -> u64 {
        self.of_pair() * pair as u64 + u64::from(slot) * u64::from(self.stride)
    }

    pub(crate) fn target(self, pair: usize, slot: u32) -> u64 {
        self.source(pair + usize::from(self.queue_pairs), slot)
    }
}
