//! What one machine shows without root.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test says what went wrong by panicking

#[path = "../common/mod.rs"]
mod common;
#[path = "../../../pure/report/src/made_up/mod.rs"]
mod made_up;

mod apply_command;
mod bench_command;
mod check_pages;
mod closed_pipe;
mod cluster_names;
mod doctor_cases;
mod doctor_causes;
mod doctor_command;
mod env_command;
mod fabric_cases;
mod hostile_facts;
mod hostile_names;
mod hostile_size;
mod init_command;
mod json_schemas;
mod launch_command;
mod named_commands;
mod nccl_logs;
mod plan_basis;
mod plan_captures;
mod plan_guards;
mod plan_properties;
mod readme_screens;
mod report_command;
mod restore_command;
mod scan_captures;
mod scan_live;
mod up_command;
