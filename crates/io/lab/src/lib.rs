//! Virtual clusters on one machine: QEMU nodes with the kernel's Soft-RoCE, joined by cables of our own.

mod access;
mod address;
mod arch;
mod digest;
mod error;
mod harness;
pub mod hub;
mod image;
mod lab;
mod lock;
mod paths;
mod process;
pub mod profile;
mod qemu;
mod seed;
mod snapshots;
mod socket;
mod state;
mod tools;

pub use arch::Arch;
pub use error::LabError;
pub use harness::{KEEP, Lease, lease};
pub use image::ImageError;
pub use lab::{
    Executed, HubProgram, Lab, Listed, NodeState, NodeStatus, Request, down, down_all, list, names,
    up,
};
pub use lock::LockError;
pub use paths::Paths;
pub use process::{EndError, ProcessId};
pub use qemu::{Accel, QmpError};
pub use tools::ToolError;

/// Progress for a person; never data.
pub type Say<'a> = &'a (dyn Fn(&str) + Sync);
