//! The PCI tree: ids, links, and what sits above what.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::TextReading;
use crate::{PciAddress, Reading};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PciDevice {
    pub address: PciAddress,
    pub vendor: Reading<u16>,
    pub device: Reading<u16>,
    pub subsystem_vendor: Reading<u16>,
    pub subsystem_device: Reading<u16>,
    /// Base class, subclass and interface: `0x020000` is Ethernet.
    pub class: Reading<u32>,
    pub link: PciLink,
    /// The bridges above it, nearest first, up to the root port.
    pub upstream: Vec<PciAddress>,
    /// `None` inside a value: the kernel says the device belongs to no node (-1).
    pub numa_node: Reading<Option<u32>>,
    pub iommu_group: Reading<u32>,
    /// `identity`, `DMA`, `DMA-FQ`, …
    pub iommu_type: TextReading,
    pub driver: TextReading,
    /// The physical function, if this is a virtual one.
    pub physical_function: Reading<PciAddress>,
    pub sensors: Vec<Sensor>,
}

impl PciDevice {
    pub fn is_virtual_function(&self) -> bool {
        self.physical_function.known().is_some()
    }
}

/// One PCI Express link as a function reports it. A width of 0 or 255 and an unknown speed are absent readings.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct PciLink {
    pub speed: Reading<LinkSpeed>,
    pub width: Reading<u32>,
    pub max_speed: Reading<LinkSpeed>,
    pub max_width: Reading<u32>,
}

/// Gigatransfers a second per lane.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LinkSpeed(pub f64);

impl LinkSpeed {
    /// The generation that runs at this speed, for speeds that the standard knows.
    pub fn generation(self) -> Option<u8> {
        const SPEEDS: [f64; 6] = [2.5, 5.0, 8.0, 16.0, 32.0, 64.0];
        SPEEDS
            .iter()
            .zip(1..)
            .find(|(speed, _)| (*speed - self.0).abs() < 0.01)
            .map(|(_, generation)| generation)
    }
}

impl fmt::Display for LinkSpeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.generation() {
            Some(generation) => write!(f, "Gen{generation}"),
            None => write!(f, "{} GT/s", self.0),
        }
    }
}

/// A temperature that the device's own driver reports.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sensor {
    pub label: String,
    pub celsius: Reading<f64>,
    pub critical: Reading<f64>,
}
