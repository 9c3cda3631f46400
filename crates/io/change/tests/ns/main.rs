//! Real network namespaces: needs root.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test says what went wrong by panicking

#[allow(dead_code, unreachable_pub)] // each program takes what it needs
#[path = "../../../../cli/tests/common/namespace.rs"]
mod namespace;
mod steps;
