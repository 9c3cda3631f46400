//! What runs on a node: reading this machine, and captures.

pub mod cabling;
pub mod capture;
pub mod change;
mod collect;
pub mod command;
pub mod commands;
pub mod fuzz;
pub mod groups;
pub mod local;
mod lock;
mod names;
pub mod netlink;
pub mod port_settings;
pub mod probe;
pub mod scratch;
pub mod trust;

pub use collect::{collect, now, sanitised};
pub use local::Local;
