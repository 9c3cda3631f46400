//! What runs on a node: reading this machine, and captures.

pub mod capture;
pub mod local;
pub mod netlink;

pub use local::Local;
