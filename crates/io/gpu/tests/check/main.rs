//! NVML.

mod nvml;
