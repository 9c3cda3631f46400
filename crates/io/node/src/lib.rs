//! What runs on a node: reading this machine, and captures.

pub mod local;

pub use local::Local;
