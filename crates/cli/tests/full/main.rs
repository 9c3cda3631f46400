//! What takes the lab hours where it has to be emulated.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test says what went wrong by panicking

#[path = "../common/mod.rs"]
mod common;
#[path = "../../../pure/report/src/made_up/mod.rs"]
mod made_up;

mod arm64;
mod bench;
mod bench_counters;
mod boot;
mod cut;
mod env;
mod init;
mod json;
mod launch;
mod launch_llama;
mod launch_mpi;
mod launch_torch;
mod power_cut;
mod prove;
mod prove_blind;
mod report;
mod screens;
mod time_service;
mod up;
