//! What the test programs share.

#![allow(dead_code, unreachable_pub)] // each program takes what it needs

pub mod benches;
pub mod boots;
pub mod cases;
pub mod changes;
pub mod command;
pub mod cuts;
pub mod debian;
pub mod inits;
pub mod jobs;
pub mod lab;
pub mod lint;
pub mod namespace;
pub mod profiles;
pub mod proofs;
pub mod prove_faults;
pub mod samples;
pub mod shell;
pub mod sshd;
pub mod tmux;
pub mod ups;
