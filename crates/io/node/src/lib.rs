//! What runs on a node: collection, captures.

pub mod capture;
pub mod fuzz;
