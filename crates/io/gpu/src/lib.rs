//! NVIDIA's libraries, loaded at run time: a machine without them is an ordinary machine.

mod inventory;
mod nvml;
mod smi;

pub use inventory::{Gpu, Inventory};
pub use nvml::{NvmlError, read};
pub use smi::{SmiError, from_smi};
