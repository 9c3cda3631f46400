//! What is asked for.

use crosstie_report::bench::Operation;

#[derive(Debug, Clone)]
pub struct BenchOptions {
    pub operation: Operation,
    pub size: u32,
    pub queue_pairs: u16,
    /// Of each test, in milliseconds.
    pub measure: u32,
    /// Also rails that carry management, and devices that programs use.
    pub force: bool,
}
