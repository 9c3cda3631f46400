//! What runs on a node: collection, captures.

pub mod capture;
