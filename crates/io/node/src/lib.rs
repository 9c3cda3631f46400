//! What runs on a node: collection, captures.
