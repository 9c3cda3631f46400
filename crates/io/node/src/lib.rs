//! What runs on a node: reading this machine, and captures.

pub mod command;
pub mod local;
pub mod netlink;

pub use local::Local;
