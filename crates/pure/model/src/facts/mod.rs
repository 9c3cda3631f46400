//! The facts of one node: what was read there, parsed, and nothing that was concluded from it.

pub mod gpu;
pub mod host;
pub mod link;
pub mod managed;
pub mod nccl;
pub mod net;
pub mod pci;
pub mod persistence;
pub mod rdma;
pub mod software;
pub mod system;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Reading;

pub use gpu::GpuFacts;
pub use host::HostFacts;
pub use link::PortQos;
pub use managed::ManagedFiles;
pub use nccl::NodeNcclSettings;
pub use net::NetworkFacts;
pub use pci::PciDevice;
pub use persistence::PersistentNetworkConfig;
pub use rdma::{RdmaDevice, RdmaPort};
pub use software::SoftwareFacts;
pub use system::SystemFacts;

/// Everything Crosstie knows of one node at one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    pub host: HostFacts,
    pub system: SystemFacts,
    /// Every PCI function, in address order.
    pub pci: Vec<PciDevice>,
    pub network: NetworkFacts,
    pub rdma: Vec<RdmaDevice>,
    pub gpus: GpuFacts,
    pub software: SoftwareFacts,
    /// By sysctl name, such as `net.core.rmem_max`.
    pub sysctls: BTreeMap<String, String>,
    pub nccl: NodeNcclSettings,
    pub persistence: PersistentNetworkConfig,
    pub managed: ManagedFiles,
    /// What collection wanted to read and could not, with the reason.
    pub unread: Vec<FactGap>,
}

/// One gap in the facts, for a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FactGap {
    /// The file, or the command whose output is missing.
    pub what: String,
    pub why: String,
    /// Root would have read it.
    pub root_would: bool,
}

impl Facts {
    pub fn pci_device(&self, address: crate::PciAddress) -> Option<&PciDevice> {
        self.pci
            .binary_search_by_key(&address, |device| device.address)
            .ok()
            .map(|index| &self.pci[index])
    }

    pub fn rdma_device(&self, name: &str) -> Option<&RdmaDevice> {
        self.rdma.iter().find(|device| device.name == name)
    }

    pub fn rdma_port(&self, device: &str, number: u32) -> Option<&RdmaPort> {
        let mut ports = self.rdma_device(device)?.ports.iter();
        ports.find(|port| port.number == number)
    }

    pub fn rdma_port_mut(&mut self, device: &str, number: u32) -> Option<&mut RdmaPort> {
        let device = self.rdma.iter_mut().find(|found| found.name == device)?;
        device.ports.iter_mut().find(|port| port.number == number)
    }

    /// Quality of service of an interface.
    pub fn qos(&self, interface: &str) -> Option<&PortQos> {
        Some(&self.network.interface(interface)?.qos)
    }

    pub fn qos_mut(&mut self, interface: &str) -> Option<&mut PortQos> {
        Some(&mut self.network.interface_mut(interface)?.qos)
    }
}

/// Counters by the kernel's own names.
pub type NamedCounters = BTreeMap<String, u64>;

/// A setting that may be anything the driver or a person wrote.
pub type TextReading = Reading<String>;
