//! Captures on disk: a directory, or a `.tar.gz` of one, that stands for a node.
//!
//! ```text
//! meta.toml    format = 1, host, captured, [gaps]
//! root/…       the parts of the node's file tree that facts come from, symbolic links kept
//! cmd/…        what commands printed
//! ```
//!
//! A capture may come from a stranger. So nothing in it is ever unpacked, run or followed: a link is text, looked up
//! inside [`Raw`](crosstie_facts::Raw) alone; only regular files are opened; and every size is bounded before memory
//! is spent on it ([`limits`]).

mod archive;
mod build;
mod directory;
mod error;
pub mod limits;
mod load;
mod meta;
mod pack;
mod tar;
mod write;

pub use error::{CaptureLoadError, CaptureWriteError};
pub use limits::CaptureLimit;
pub use load::{LoadedCapture, load};
pub use pack::{pack, unpack};
pub use write::write;

/// Version of the capture format that this build reads and writes.
pub const FORMAT: i64 = 1;

const META: &str = "meta.toml";
const ROOT: &str = "root";
const COMMANDS: &str = "cmd";
