//! Network interfaces, addresses and the ways out.

use std::net::IpAddr;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

use super::{NamedCounters, TextReading, link::LinkSettings};
use crate::{HardwareAddress, Mtu, PciAddress, Reading};

pub use crate::renderer::Manager;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NetworkFacts {
    pub interfaces: Vec<Interface>,
    pub routes: Reading<Vec<IpRoute>>,
    pub rules: Reading<Vec<RoutingRule>>,
    pub neighbours: Reading<Vec<NeighbourEntry>>,
    /// The node's own end of the ssh connection that we came in by.
    pub ssh_address: Reading<IpAddr>,
    pub firewall: Reading<FirewallFacts>,
}

impl NetworkFacts {
    pub fn interface(&self, name: &str) -> Option<&Interface> {
        // Parsers give them by name. Whoever adds one need not.
        let sorted = self
            .interfaces
            .binary_search_by(|interface| interface.name.as_str().cmp(name));
        match sorted {
            Ok(index) => self.interfaces.get(index),
            Err(_) => self
                .interfaces
                .iter()
                .find(|interface| interface.name == name),
        }
    }

    pub fn interface_mut(&mut self, name: &str) -> Option<&mut Interface> {
        self.interfaces.iter_mut().find(|found| found.name == name)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Interface {
    pub name: String,
    pub index: Reading<u32>,
    pub mac: Reading<HardwareAddress>,
    /// Where the kernel's ARPHRD type says what it is: 1 Ethernet, 32 InfiniBand, 772 loopback.
    pub hardware_type: Reading<u32>,
    pub mtu: Reading<Mtu>,
    pub max_mtu: Reading<Mtu>,
    /// Administratively up (`IFF_UP`).
    pub up: Reading<bool>,
    pub operstate: TextReading,
    pub carrier: Reading<bool>,
    pub carrier_changes: Reading<u64>,
    /// Mb/s; the kernel's -1 is an absent reading.
    pub speed_mbps: Reading<u64>,
    pub addresses: Vec<InterfaceAddress>,
    /// The bond, bridge or VRF that it belongs to.
    pub master: Reading<String>,
    /// The interface below, for VLANs, macvlans and the like.
    pub lower: Reading<String>,
    /// `vlan`, `bond`, `bridge`, `veth`, …; absent for hardware.
    pub kind: TextReading,
    pub vlan: Reading<u16>,
    pub switch_id: TextReading,
    pub port_name: TextReading,
    pub dev_id: Reading<u32>,
    pub dev_port: Reading<u32>,
    pub pci: Reading<PciAddress>,
    pub manager: Manager,
    pub link: LinkSettings,
    pub qos: super::link::PortQos,
    pub statistics: NamedCounters,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InterfaceAddress {
    /// The address with its prefix length, host bits kept.
    pub net: IpNet,
    /// `global`, `link`, `host`.
    pub scope: String,
    /// Leased or autoconfigured: it has a lifetime.
    pub dynamic: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IpRoute {
    /// `None` is the default route.
    pub destination: Option<IpNet>,
    pub gateway: Option<IpAddr>,
    pub interface: Option<String>,
    pub source: Option<IpAddr>,
    pub metric: u32,
    pub table: String,
    pub protocol: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoutingRule {
    pub priority: u32,
    /// `None` is everything.
    pub from: Option<IpNet>,
    pub to: Option<IpNet>,
    pub interface: Option<String>,
    pub table: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NeighbourEntry {
    pub address: IpAddr,
    pub interface: Option<String>,
    pub mac: Option<HardwareAddress>,
    pub state: Vec<String>,
}

/// The packet filter, as far as it decides whether the fabric is let in.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FirewallFacts {
    /// Base chains on the input hook.
    pub input: Vec<InputChain>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputChain {
    pub family: String,
    pub table: String,
    pub chain: String,
    pub policy: String,
    /// The chain's rules and those of the chains it jumps to, with the conditions of the jump, in nft's JSON, one rule
    /// each.
    pub rules: Vec<String>,
}
