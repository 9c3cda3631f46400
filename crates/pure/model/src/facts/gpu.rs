//! Graphics processors, as NVIDIA's driver describes them.

use serde::{Deserialize, Serialize};

use super::TextReading;
use crate::{Bytes, PciAddress, Reading};

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct GpuFacts {
    /// Absent: no NVIDIA driver answered.
    pub devices: Reading<Vec<Gpu>>,
    pub driver: TextReading,
    pub cuda: TextReading,
}

impl GpuFacts {
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

    /// NVIDIA allows GPUDirect RDMA on data-centre and professional parts; a GB10 has no memory of its own to reach.
    pub fn can_gpudirect(&self) -> bool {
        const WITHOUT: [&str; 5] = ["GeForce", "TITAN", "Tegra", "Orin", "Thor"];
        !self.is_gb10() && !WITHOUT.iter().any(|family| self.name.contains(family))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_are_told_by_name() {
        let can = |name: &str| {
            let gpu = Gpu {
                name: name.to_owned(),
                pci: Reading::Absent,
                memory: Reading::Absent,
            };
            gpu.can_gpudirect()
        };
        assert!(can("NVIDIA H100 80GB HBM3"));
        assert!(can("NVIDIA RTX PRO 6000 Blackwell Workstation Edition"));
        assert!(!can("NVIDIA GeForce RTX 4090"));
        assert!(!can("NVIDIA GB10"));
    }
}
