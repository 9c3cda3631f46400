//! The bootstrap script, and what the fuzzer found.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test says what went wrong by panicking

mod bootstrap;
mod fuzz_corpus;
