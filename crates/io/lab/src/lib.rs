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
pub use harness::{KEEP_VARIABLE, LabLease, lease, lease_at, lease_containers};
pub use image::ImageError;
pub use lab::{
    Lab, LabCommandOutput, LabKind, LabListing, LabNodeState, LabNodeStatus, LabProgram,
    LabRequest, down, down_all, down_one, list, names, up,
};
pub use lock::LabLockError;
pub use paths::LabPaths;
pub use process::{EndProcessError, ProcessId};
pub use qemu::{QemuAccelerator, QmpError};
pub use tools::ToolError;

/// Progress for a person; never data.
pub type ReportProgress<'a> = &'a (dyn Fn(&str) + Sync);
