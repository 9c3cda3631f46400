//! The allow-list and the walk over it.
