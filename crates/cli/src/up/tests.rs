//! Stages against nodes that are made up.
