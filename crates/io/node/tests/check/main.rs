//! Captures, as they come and go.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test says what went wrong by panicking

mod common;
mod hostile_archives;
mod hostile_captures;
mod round_trip;
mod secrets;
