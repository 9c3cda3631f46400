//! What is tested when, what the figures are worth, and which part is at fault.
//!
//! ```text
//! ports and pairs ──schedule──▶ campaign ⇄ engines ──▶ Run ──ceilings, ledger──▶ GradedRun ──attribute──▶ faults
//! ```
//!
//! Nothing here measures. A run is a value, so it can be graded again, later and elsewhere.

pub mod attribute;
pub mod ceiling;
pub mod compare;
pub mod counters;
pub mod graded;
pub mod groups;
pub mod ledger;
pub mod limit;
pub mod locate;
pub mod loss;
pub mod proof;
pub mod reach;
pub mod record;
#[cfg(test)]
mod sample_runs;
pub mod schedule;
pub mod simulated;
pub mod statistics;
pub mod verdict;

pub use attribute::{FaultKind, MeasuredFault, faults};
pub use ceiling::PairCeiling;
pub use graded::{GradedPath, GradedRun, RailSum};
pub use ledger::BandwidthLedger;
pub use limit::LikelyLimit;
pub use proof::ProofStateMachine;
pub use verdict::FigureVerdict;
