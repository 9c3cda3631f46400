//! A long-lived child for engines that load other people's libraries and hold hardware: a crash costs the worker, not the
//! agent.
//!
//! It answers one question at a time, over frames on its standard input and output. It ends when its input ends, when its
//! lifetime is over, and with the [`WorkerProcess`] that its parent holds.

mod child;
mod error;
mod frames;
mod parent;
#[cfg(test)]
mod tests;

pub use child::{WorkerContext, WorkerEngine, serve};
pub use error::WorkerError;
pub use parent::WorkerProcess;

/// Precedes the frames: a library may have printed something before.
const MAGIC: &[u8] = b"\ncrosstie-worker\n";
