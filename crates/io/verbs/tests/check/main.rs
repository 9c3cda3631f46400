//! Verbs against the library that stands in for libibverbs.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test says what went wrong by panicking

mod addresses;
mod connecting;
mod devices;
mod events;
mod failing;
mod library;
mod memory_errors;
mod ownership;
mod stand_in;
mod transfers;
mod work;
