//! Real network namespaces, real sshds and systemd containers on this machine: needs root.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test says what went wrong by panicking

#[path = "../common/mod.rs"]
mod common;

mod agents;
mod ask_password;
mod bad_nodes;
mod bench_stopped;
mod bench_tcp;
mod cabling;
mod containers;
mod discover;
mod fresh_connection;
mod init;
mod namespace;
mod plan_lint;
mod probe;
mod scan_ssh;
mod sessions;
mod sudo;
mod trust;
