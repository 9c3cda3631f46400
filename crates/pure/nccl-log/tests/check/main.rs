//! NCCL's logs.

#![allow(clippy::unwrap_used)] // a test says what went wrong by panicking

mod reading;
