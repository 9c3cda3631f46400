//! NVIDIA's libraries, loaded at run time: a machine without them is an ordinary machine.

mod nvml;

pub use nvml::{NvmlError, read};
