//! Which machine this is.

use serde::{Deserialize, Serialize};

use super::TextReading;
use crate::{Bytes, Reading};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostFacts {
    pub name: String,
    /// The kernel's word for the machine: `aarch64`, `x86_64`.
    pub arch: TextReading,
    pub distro: Distro,
    pub kernel: TextReading,
    /// Allow-listed kernel parameters, in their order on the command line.
    pub command_line: Reading<Vec<String>>,
    pub dmi: Dmi,
    pub machine_id: TextReading,
    pub boot_id: TextReading,
    pub cpu: Cpu,
    pub numa: Vec<NumaNode>,
    pub memory: MemoryFacts,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Distro {
    pub id: TextReading,
    pub version: TextReading,
    pub pretty: TextReading,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Dmi {
    pub vendor: TextReading,
    pub product: TextReading,
    pub board: TextReading,
    pub bios_version: TextReading,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Cpu {
    pub model: TextReading,
    /// Logical processors that are online.
    pub online: Reading<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NumaNode {
    pub id: u32,
    /// As the kernel writes it: `0-19,40-59`.
    pub cpus: TextReading,
    pub memory: Reading<Bytes>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct MemoryFacts {
    pub total: Reading<Bytes>,
    pub available: Reading<Bytes>,
    pub cma_total: Reading<Bytes>,
    pub cma_free: Reading<Bytes>,
    pub huge_pages_free: Reading<u64>,
}
