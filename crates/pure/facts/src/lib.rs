//! From what was read on a node to what it means, with one parser for each fact.
//!
//! ```text
//! a live node ──Source──▶ collect (allow-list) ──▶ Raw ──▶ facts ──▶ Facts
//! a capture   ────────────────────────────────────▶ Raw ──▶ facts ──▶ Facts
//! ```
//!
//! [`RawCapture`] is a capture in memory. Live collection produces the same shape, so everything behind it is shared, and a
//! bug report is a test fixture.

pub mod collect;
pub mod fuzz;
mod joined;
mod parse;
pub mod raw;
mod renderer;
mod size;
pub mod source;

pub use joined::{joined, total};
pub use parse::{covers, distro, dscp_table, facts, traffic_class};
pub use raw::{CaptureEntry, CaptureMeta, RawCapture, ReadGap};
pub use renderer::{PROFILES, is_renderers, keeps_unnamed, private_managers};
pub use size::{MachineTooLarge, check_size};
pub use source::FileTree;
