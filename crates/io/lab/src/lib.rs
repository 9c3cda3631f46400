//! Virtual clusters on one machine: QEMU nodes with the kernel's Soft-RoCE, joined by cables of our own, or containers
//! with everything but RDMA.

mod access;
mod address;
mod arch;
mod container;
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
mod spec;
mod state;
mod tools;

pub use arch::Arch;
pub use container::{control_groups, serve_gateway, serve_node};
pub use error::LabError;
pub use harness::{KEEP, Lease, lease, lease_at, lease_containers};
pub use image::ImageError;
pub use lab::{
    Executed, Kind, Lab, LabProgram, Listed, NodeState, NodeStatus, Request, down, down_all,
    down_one, list, names, up,
};
pub use lock::LockError;
pub use paths::Paths;
pub use process::{EndError, ProcessId};
pub use qemu::{Accel, QmpError};
pub use tools::ToolError;

/// Progress for a person; never data.
pub type Say<'a> = &'a (dyn Fn(&str) + Sync);
