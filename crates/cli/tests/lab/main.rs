//! Virtual machines with the kernel's Soft-RoCE.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test says what went wrong by panicking

#[path = "../common/mod.rs"]
mod common;

mod bench;
mod command;
mod doctor;
mod prove;
mod scan;
mod two_sparks;
mod up;
