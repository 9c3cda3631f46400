//! What a PCI Express link carries, and what a set of functions gets through the tree together.

use std::collections::BTreeMap;

use crosstie_model::{
    Facts, Gbps, PciAddress,
    facts::pci::{LinkSpeed, PciDevice},
};

/// Payload of one transaction: the size that servers and Sparks negotiate. Reading the true one takes root; at 128 the
/// figure would be 9.5 % lower.
const PAYLOAD: f64 = 256.0;

/// Payload bandwidth of a link, after encoding, packet headers and acknowledgements, as UCX computes it
/// (`ucs/sys/topo`): Gen5 x4 gives 112.8 Gb/s.
pub fn link_rate(speed: LinkSpeed, width: u32) -> Option<Gbps> {
    let (encoding, header) = match speed.generation()? {
        1 | 2 => (0.8, 24.0),
        3..=5 => (128.0 / 130.0, 26.0),
        // Flits: 236 of 256 bytes are packets, and headers have no framing of their own. An estimate.
        _ => (236.0 / 256.0, 16.0),
    };
    // One acknowledgement for every four packets.
    let packets = 4.0 * PAYLOAD / (4.0 * (PAYLOAD + header) + 16.0);
    Some(Gbps(speed.0 * f64::from(width) * encoding * packets))
}

/// The narrowest link between a function and the root.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PcieBottleneck {
    pub rate: Gbps,
    pub speed: LinkSpeed,
    pub width: u32,
    /// Whose link it is: the function itself, or a bridge above it.
    pub at: PciAddress,
}

pub fn bottleneck(facts: &Facts, function: PciAddress) -> Option<PcieBottleneck> {
    let device = facts.pci_device(function)?;
    let above = device
        .upstream
        .iter()
        .filter_map(|address| facts.pci_device(*address));
    std::iter::once(device)
        .chain(above)
        .filter_map(own_link)
        .min_by(|a, b| a.rate.0.total_cmp(&b.rate.0))
}

fn own_link(device: &PciDevice) -> Option<PcieBottleneck> {
    let (speed, width) = (*device.link.speed.known()?, *device.link.width.known()?);
    Some(PcieBottleneck {
        rate: link_rate(speed, width)?,
        speed,
        width,
        at: device.address,
    })
}

/// Every link whose rate is known, from the root down to a function. The functions of one device share its link, and
/// have it under the same address.
pub fn links(facts: &Facts, function: PciAddress) -> Vec<PcieBottleneck> {
    let Some(device) = facts.pci_device(function) else {
        return Vec::new();
    };
    let above = device.upstream.iter().rev();
    let above = above.filter_map(|address| own_link(facts.pci_device(*address)?));
    let own = own_link(device).map(|link| PcieBottleneck {
        at: slot(function),
        ..link
    });
    above.chain(own).collect()
}

fn slot(function: PciAddress) -> PciAddress {
    PciAddress {
        function: 0,
        ..function
    }
}

/// What the functions carry at once: they add up, and each link that several of them share caps what is below it.
/// `None` if the links of any function are unknown.
pub fn combined_rate(facts: &Facts, functions: &[PciAddress]) -> Option<Gbps> {
    let paths: Option<Vec<Vec<Hop>>> = functions
        .iter()
        .map(|function| path(facts, *function))
        .collect();
    let paths = paths?;
    Some(Gbps(combined_flow(
        &paths.iter().map(Vec::as_slice).collect::<Vec<_>>(),
    )))
}

/// A link, and what it carries.
type Hop = (PciAddress, f64);

/// The links from the root down to a function.
fn path(facts: &Facts, function: PciAddress) -> Option<Vec<Hop>> {
    let device = facts.pci_device(function)?;
    bottleneck(facts, function)?;
    let capacity = |device: Option<&PciDevice>| {
        device
            .and_then(own_link)
            .map_or(f64::INFINITY, |link| link.rate.0)
    };
    let above = device.upstream.iter().rev().map(|address| {
        let link = facts.pci_device(*address);
        (*address, capacity(link))
    });
    // The functions of one device share its link, and each reports it as its own.
    Some(
        above
            .chain([(slot(function), capacity(Some(device)))])
            .collect(),
    )
}

/// What paths through a tree carry together, each from the root down: links of one name are one link.
pub fn combined_flow<K: Ord + Copy>(paths: &[&[(K, f64)]]) -> f64 {
    type Branch<'a, K> = (f64, Vec<&'a [(K, f64)]>);
    let mut branches: BTreeMap<K, Branch<K>> = BTreeMap::new();
    for ((at, capacity), rest) in paths.iter().filter_map(|path| path.split_first()) {
        let branch = branches.entry(*at).or_insert((*capacity, Vec::new()));
        if !rest.is_empty() {
            branch.1.push(rest);
        }
    }
    let through = |(capacity, below): &Branch<K>| {
        if below.is_empty() {
            *capacity
        } else {
            capacity.min(combined_flow(below))
        }
    };
    branches.values().map(through).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_carry_what_ucx_says() {
        let cases = [
            (32.0, 4, 112.8),
            (16.0, 16, 225.6),
            (32.0, 16, 451.2),
            (8.0, 8, 56.4),
            (5.0, 8, 28.8),
        ];
        for (speed, width, expected) in cases {
            let rate = link_rate(LinkSpeed(speed), width).unwrap();
            assert!((rate.0 - expected).abs() < 0.1, "{speed} x{width}: {rate}");
        }
        assert_eq!(link_rate(LinkSpeed(12.0), 4), None);
    }
}
