//! Both ends in one process, over the loopback interface.

#![allow(clippy::unwrap_used, clippy::panic)] // a test says what went wrong by panicking

mod bandwidth;
mod ends;
mod latency;
mod strangers;
