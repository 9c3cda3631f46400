//! What is asked for.

use crosstie_report::bench::{BenchOperation, BenchRequest};

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BenchTransports {
    Rdma,
    Tcp,
    /// Whatever there is.
    Both,
}

#[derive(Debug, Clone)]
pub struct BenchOptions {
    pub transports: BenchTransports,
    /// Of TCP's tests with several.
    pub streams: u16,
    /// Bytes that TCP hands over with one call.
    pub block: u32,
    /// Also run the tools that others measure with.
    pub verify: bool,
    pub operation: BenchOperation,
    pub size: u32,
    pub queue_pairs: u16,
    /// Messages under way on a queue pair; a power of two, as the next.
    pub depth: u32,
    /// Messages that are posted with one call.
    pub list: u32,
    /// Of each test, in milliseconds.
    pub measure: u32,
    /// Also both directions at once.
    pub bidirectional: bool,
    /// Also every size from 2 bytes to 8 MiB.
    pub sweep: bool,
    /// Also look at every byte of some messages.
    pub verify_data: bool,
    /// Also rails that carry management, and devices that programs use.
    pub force: bool,
}

impl BenchOptions {
    pub(super) fn asked(&self) -> BenchRequest {
        BenchRequest {
            operation: self.operation,
            size: self.size,
            queue_pairs: self.queue_pairs,
            depth: self.depth,
            list: self.list,
        }
    }
}
