//! RDMA devices, their ports and GID tables.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{NamedCounters, TextReading};
use crate::{Gbps, Gid, Guid, PciAddress, Reading};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RdmaDevice {
    pub name: String,
    pub node_guid: Reading<Guid>,
    pub system_guid: Reading<Guid>,
    pub node_type: TextReading,
    pub firmware: TextReading,
    /// The vendor's name for the board (PSID).
    pub board: TextReading,
    pub model: TextReading,
    pub pci: Reading<PciAddress>,
    /// Soft-RoCE, Soft-iWARP: verbs in the kernel over any network interface.
    pub software: bool,
    /// `/dev/infiniband/uverbsN` that belongs to it.
    pub verbs: Reading<VerbsDeviceFile>,
    pub ports: Vec<RdmaPort>,
    /// Queue pairs now alive on the device.
    pub queue_pairs: Reading<Vec<QueuePairFacts>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerbsDeviceFile {
    pub name: String,
    /// The device node exists under `/dev/infiniband`.
    pub present: bool,
    /// The user who collected may open it.
    pub accessible: Reading<bool>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RdmaPort {
    pub number: u32,
    pub state: Reading<PortState>,
    pub physical_state: Reading<PhysicalState>,
    pub link_layer: Reading<LinkLayer>,
    pub rate: Reading<Gbps>,
    /// The rate as the kernel words it: `200 Gb/sec (2X NDR)`.
    pub rate_text: TextReading,
    pub lid: Reading<u32>,
    pub sm_lid: Reading<u32>,
    /// The network interface that the port itself belongs to.
    pub netdev: Reading<String>,
    /// Entries that hold something, in index order.
    pub gids: Vec<GidTableEntry>,
    pub counters: NamedCounters,
    pub hw_counters: NamedCounters,
    /// Default traffic class that the driver gives queue pairs, where it has one.
    pub traffic_class: Reading<u8>,
    /// RDMA-CM's default for the port: `IB/RoCE v1` or `RoCE v2`.
    pub cm_roce_mode: TextReading,
}

impl RdmaPort {
    pub fn is_active(&self) -> bool {
        self.state.known() == Some(&PortState::Active)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GidTableEntry {
    pub index: u32,
    pub gid: Gid,
    pub kind: Reading<GidKind>,
    pub netdev: TextReading,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueuePairFacts {
    pub number: u32,
    pub port: Option<u32>,
    /// `RC`, `UD`, `GSI`, `SMI`, …
    pub kind: String,
    pub state: String,
    /// The owning process; kernel owners have no pid.
    pub pid: Option<u32>,
    pub command: Option<String>,
}

/// An enumeration that the kernel may extend: what we do not know is kept as it was.
macro_rules! kernel_enum {
    ($(#[$doc:meta])* $name:ident { $($variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(from = "String", into = "String")]
        pub enum $name { $($variant,)+ Unknown(String) }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                match text.as_str() { $($text => Self::$variant,)+ _ => Self::Unknown(text) }
            }
        }
        impl From<$name> for String {
            fn from(value: $name) -> Self { value.to_string() }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $(Self::$variant => $text,)+ Self::Unknown(text) => text })
            }
        }
    };
}

kernel_enum!(
    /// Logical state of a port (InfiniBand specification, PortInfo:PortState).
    PortState { Down = "DOWN", Init = "INIT", Armed = "ARMED", Active = "ACTIVE", ActiveDefer = "ACTIVE_DEFER" }
);
kernel_enum!(
    /// Physical state of a port (PortInfo:PortPhysicalState).
    PhysicalState {
        Sleep = "Sleep",
        Polling = "Polling",
        Disabled = "Disabled",
        Training = "PortConfigurationTraining",
        LinkUp = "LinkUp",
        LinkErrorRecovery = "LinkErrorRecovery",
        PhyTest = "Phy Test",
    }
);
kernel_enum!(LinkLayer { InfiniBand = "InfiniBand", Ethernet = "Ethernet" });
kernel_enum!(
    /// The kernel words InfiniBand and RoCE v1 alike.
    GidKind { RoceV1 = "IB/RoCE v1", RoceV2 = "RoCE v2" }
);
