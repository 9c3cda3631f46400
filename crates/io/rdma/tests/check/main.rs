//! The engine against the library that stands in for libibverbs. What it measures there says nothing about RDMA; that it
//! measures, ends, and says what went wrong is what is tested.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test says what went wrong by panicking

mod bandwidth;
mod ends;
mod latency;
mod memory_errors;
mod requests;
mod verify;
