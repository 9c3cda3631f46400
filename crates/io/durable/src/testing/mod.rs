//! A disk that cuts work off, and forgets what was not synced.

mod cut_disk;
mod unsynced;

pub use cut_disk::{CrashPoint, CrashTestDisk, at_every_cut};
pub use unsynced::UnsyncedWrites;
