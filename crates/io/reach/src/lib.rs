//! Sessions to nodes.
