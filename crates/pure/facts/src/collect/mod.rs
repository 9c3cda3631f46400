//! What is read of a node, and how it is cut down.
//!
//! One table for files ([`GROUPS`]) and one for commands ([`command`]) decide what collection reads and what a capture holds. Nothing outside
//! them leaves a node, so that a capture can be posted in public.

mod command;
mod filter;
mod pattern;
mod rules;
mod walk;

pub use command::{command, gpu_xml};
pub use filter::is_engine_variable;
pub(crate) use filter::is_other;
pub use rules::{GROUPS, HOME_NCCL_CONF, Keep, NAMED_NCCL_CONF, Rule};
pub use walk::{Alias, alias, group, tree};
