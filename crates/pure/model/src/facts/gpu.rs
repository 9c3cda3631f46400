//! Graphics processors, as NVIDIA's driver describes them.

use serde::{Deserialize, Serialize};

use super::TextReading;
use crate::{Bytes, PciAddress, Reading};

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Gpus {
    /// Absent: no NVIDIA driver answered.
    pub devices: Reading<Vec<Gpu>>,
    pub driver: TextReading,
    pub cuda: TextReading,
}

impl Gpus {
    pub fn iter(&self) -> impl Iterator<Item = &Gpu> {
        self.devices.known().into_iter().flatten()
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gpu {
    pub name: String,
    pub pci: Reading<PciAddress>,
    /// Absent on unified-memory parts such as the GB10: normal there.
    pub memory: Reading<Bytes>,
}

impl Gpu {
    /// The Grace Blackwell part of DGX Spark and its siblings: one memory for CPU and GPU.
    pub fn is_gb10(&self) -> bool {
        self.name.split_whitespace().any(|word| word == "GB10")
    }
}
