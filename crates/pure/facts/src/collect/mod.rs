//! What is read of a node's file tree, and how it is cut down.
//!
//! One table ([`RULES`]) decides what collection reads, what a capture holds and what its documentation says. Nothing
//! outside the table leaves a node, so that a capture can be posted in public.

mod filter;
mod pattern;
mod rules;
mod walk;

pub(crate) use pattern::glob_matches;
pub use rules::{HOME_NCCL_CONF, Keep, NAMED_NCCL_CONF, RULES, Rule};
pub use walk::{Alias, tree};
