//! The most that a port or a cage can carry, and what it is that stops it there.

use crosstie_model::{
    Facts, Gbps, PciAddress,
    facts::rdma::{RdmaDevice, RdmaPort},
};
use serde::Serialize;

use crate::{pcie, wire};

/// Payload bandwidth in one direction that physics allows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PortCeiling {
    pub rate: Gbps,
    pub limit: PortCeilingLimit,
}

/// What binds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PortCeilingLimit {
    /// The port's rate, less the headers of every packet.
    PortRate,
    /// The narrowest PCI Express link up to the root.
    Pcie,
}

/// What one active port can carry by itself. Software devices have no physics to measure them by.
pub fn port_ceiling(facts: &Facts, device: &RdmaDevice, port: &RdmaPort) -> Option<PortCeiling> {
    if device.software || !port.is_active() {
        return None;
    }
    let pcie = device
        .pci
        .known()
        .and_then(|pci| pcie::bottleneck(facts, *pci));
    narrower(wire::payload_rate(facts, port), pcie.map(|link| link.rate))
}

/// What the ports behind one cage carry together: PCI Express adds up over twins, the cable does not.
pub fn cage_ceiling<'a>(
    facts: &Facts,
    ports: impl Iterator<Item = (&'a RdmaDevice, &'a RdmaPort)>,
) -> Option<PortCeiling> {
    let active: Vec<_> = ports
        .filter(|(device, port)| port.is_active() && !device.software)
        .collect();
    let wire = active
        .iter()
        .filter_map(|(_, port)| wire::payload_rate(facts, port))
        .max_by(|a, b| a.0.total_cmp(&b.0));
    let functions: Option<Vec<PciAddress>> = active
        .iter()
        .map(|(device, _)| device.pci.known().copied())
        .collect();
    let pcie = functions.filter(|functions| !functions.is_empty());
    narrower(
        wire,
        pcie.and_then(|functions| pcie::combined_rate(facts, &functions)),
    )
}

/// The port's rate has to be known: a PCI Express link alone promises nothing about the cable.
fn narrower(wire: Option<Gbps>, pcie: Option<Gbps>) -> Option<PortCeiling> {
    let wire = wire?;
    Some(match pcie {
        Some(pcie) if pcie < wire => PortCeiling {
            rate: pcie,
            limit: PortCeilingLimit::Pcie,
        },
        _ => PortCeiling {
            rate: wire,
            limit: PortCeilingLimit::PortRate,
        },
    })
}
