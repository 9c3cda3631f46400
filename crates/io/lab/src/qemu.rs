//! QEMU: its command line, its monitor, and whether KVM can be trusted.

pub(crate) mod accel;
mod arguments;
mod board;
mod qmp;

pub use accel::QemuAccelerator;
pub(crate) use arguments::{NodeFilePaths, gateway, node, shape};
pub use qmp::QmpError;
pub(crate) use qmp::{MachineRunState, QmpClient};
