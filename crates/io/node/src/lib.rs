//! What runs on a node: reading this machine, and captures.

pub mod command;
pub mod commands;
pub mod local;
pub mod netlink;

pub use commands::{fabric_interfaces, gather};
pub use local::Local;
