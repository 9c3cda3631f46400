//! The most that two ports, or several rails, can carry between two nodes.
//!
//! The same arithmetic as `fabric::ceiling`, over what a run has stored of its ports, and with one difference: here an
//! Ethernet port is held to the largest path MTU. The interface's MTU is a setting, and its cost is a line in the ledger.

use std::collections::{BTreeMap, HashMap};

use crosstie_fabric::pcie;
use crosstie_model::{
    facts::{pci::LinkSpeed, rdma::LinkLayer},
    run::{MeasuredEnd, RunPort, StoredRun, TestKind},
};

/// The largest path MTU of InfiniBand and RoCE.
const BEST_PATH_MTU: u32 = 4096;
/// Of RoCE v2 over IPv4, where a port's own is not known.
const USUAL_HEADER_BYTES: u32 = 82;
/// TCP and IPv4 headers with time stamps, inside of the MTU.
const TCP_INSIDE: f64 = 52.0;
/// Preamble, Ethernet header, checksum and gap, outside of it.
const TCP_OUTSIDE: f64 = 38.0;
const USUAL_MTU: u32 = 1500;

/// Payload bandwidth in one direction.
#[derive(Debug, Clone, PartialEq)]
pub struct PairCeiling {
    pub gbps: f64,
    pub binding: CeilingCause,
    /// The rate of the slower port; of all cables together where there are several rails.
    pub port_rate: f64,
    /// What is left of it after the headers of packets of `path_mtu` bytes.
    pub after_headers: f64,
    pub path_mtu: u32,
    /// The narrowest PCI Express link of both ends; of all rails together.
    pub pcie: Option<PcieLimit>,
    /// The path MTU that the ports really have, if it is smaller, and what is left of the rate with it.
    pub small_path_mtu: Option<(u32, f64)>,
    /// What each rail could carry by itself.
    pub rails: Vec<f64>,
}

/// What it is that binds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CeilingCause {
    PortRate,
    Pcie,
    /// What the cluster file says a port carries.
    DeclaredRate,
    /// The median of other pairs of the run.
    Peers,
}

#[derive(Debug, Clone, PartialEq)]
pub struct PcieLimit {
    pub gbps: f64,
    pub host: String,
    /// Of one link; `None` where several are added up.
    pub link: Option<(LinkSpeed, u32)>,
}

impl PcieLimit {
    /// `Gen5 x4 at spark-a`
    pub fn words(&self) -> String {
        match self.link {
            Some((speed, width)) => format!("{speed} x{width} at {}", self.host),
            None => format!("the links at {}", self.host),
        }
    }
}

/// Ports of a run by host and device, or interface.
pub struct RunPortIndex<'a> {
    run: &'a StoredRun,
    by_device: HashMap<(&'a str, &'a str), &'a RunPort>,
    by_interface: HashMap<(&'a str, &'a str), &'a RunPort>,
}

impl<'a> RunPortIndex<'a> {
    pub fn new(run: &'a StoredRun) -> Self {
        let ports = || {
            run.header
                .nodes
                .iter()
                .flat_map(|node| node.ports.iter().map(|port| (node.host.as_str(), port)))
        };
        let by_device = ports().map(|(host, port)| ((host, port.device.as_str()), port));
        let by_interface =
            ports().filter_map(|(host, port)| Some(((host, port.interface.as_deref()?), port)));
        Self {
            run,
            by_device: by_device.collect(),
            by_interface: by_interface.collect(),
        }
    }

    pub fn port(&self, end: &MeasuredEnd) -> Option<&'a RunPort> {
        let host = end.host.as_str();
        let by_device = end.device.as_deref();
        let by_device = by_device.and_then(|device| self.by_device.get(&(host, device)));
        let by_interface = || {
            let interface = end.interface.as_deref()?;
            self.by_interface.get(&(host, interface))
        };
        by_device.or_else(by_interface).copied()
    }

    pub fn is_software(&self, from: &MeasuredEnd, to: &MeasuredEnd) -> bool {
        [from, to]
            .into_iter()
            .filter_map(|end| self.port(end))
            .any(|port| port.software)
    }

    /// What the pair carries alone.
    pub fn of_pair(
        &self,
        kind: TestKind,
        from: &MeasuredEnd,
        to: &MeasuredEnd,
    ) -> Option<PairCeiling> {
        let (near, far) = (self.port(from)?, self.port(to)?);
        if kind == TestKind::TcpBandwidth {
            return tcp(near, far);
        }
        if near.software || far.software {
            return self.declared(near, far);
        }
        let wire = Wire::between(near, far)?;
        let pcie = least_pcie([(from, near), (to, far)].map(|(end, port)| (&end.host, port)));
        Some(wire.with(pcie, Vec::new()))
    }

    fn declared(&self, near: &RunPort, far: &RunPort) -> Option<PairCeiling> {
        let rate = self.run.header.options.rate_gbps?.0;
        let path_mtu = in_use(near, far).unwrap_or(BEST_PATH_MTU);
        let after_headers = payload(rate, path_mtu, header_bytes(near, far));
        Some(PairCeiling {
            gbps: after_headers,
            binding: CeilingCause::DeclaredRate,
            port_rate: rate,
            after_headers,
            path_mtu,
            pcie: None,
            small_path_mtu: None,
            rails: Vec::new(),
        })
    }

    /// What several rails between two nodes carry at once: each shared cable and each shared PCI Express link counts once.
    pub fn of_rails(&self, rails: &[(&MeasuredEnd, &MeasuredEnd)]) -> Option<PairCeiling> {
        let ports: Option<Vec<_>> = rails
            .iter()
            .map(|(from, to)| Some((*from, self.port(from)?, *to, self.port(to)?)))
            .collect();
        let ports = ports.filter(|ports| !ports.is_empty())?;
        if ports
            .iter()
            .any(|(_, near, _, far)| near.software || far.software)
        {
            return None;
        }
        let mut wire = Wire::default();
        let mut cables: BTreeMap<(&str, &str), Wire> = BTreeMap::new();
        let mut alone = Vec::new();
        for (index, (from, near, to, far)) in ports.iter().enumerate() {
            let own = Wire::between(near, far)?;
            let pcie = least_pcie([(&from.host, *near), (&to.host, *far)]);
            alone.push(own.with(pcie, Vec::new()).gbps);
            match (&from.cable, &to.cable) {
                (Some(from), Some(to)) => {
                    let shared = cables.entry((from, to)).or_default();
                    *shared = shared.wider(&own);
                }
                // Nothing tells that it shares a cable.
                _ => wire = wire.plus(&own),
            }
            wire.path_mtu = if index == 0 {
                own.path_mtu
            } else {
                wire.path_mtu
            };
        }
        for cable in cables.values() {
            wire = wire.plus(cable);
        }
        let from_side = pcie_together(&ports[0].0.host, ports.iter().map(|(_, near, ..)| *near));
        let to_side = pcie_together(&ports[0].2.host, ports.iter().map(|(.., far)| *far));
        let pcie = match (from_side, to_side) {
            (Some(a), Some(b)) => Some(if a.gbps <= b.gbps { a } else { b }),
            (a, b) => a.or(b),
        };
        Some(wire.with(pcie, alone))
    }
}

/// A ceiling by what other pairs of the same run reach.
pub fn of_peers(median: f64) -> PairCeiling {
    PairCeiling {
        gbps: median,
        binding: CeilingCause::Peers,
        port_rate: median,
        after_headers: median,
        path_mtu: BEST_PATH_MTU,
        pcie: None,
        small_path_mtu: None,
        rails: Vec::new(),
    }
}

/// A port's rate, and what its packets leave of it.
#[derive(Debug, Clone, Default)]
struct Wire {
    rate: f64,
    after_headers: f64,
    path_mtu: u32,
    small: Option<(u32, f64)>,
}

impl Wire {
    fn between(near: &RunPort, far: &RunPort) -> Option<Self> {
        let rate = near.rate_gbps?.0.min(far.rate_gbps?.0);
        let headers = header_bytes(near, far);
        let path_mtu = best_mtu(near).min(best_mtu(far));
        let small = in_use(near, far).filter(|mtu| *mtu < path_mtu);
        Some(Self {
            rate,
            after_headers: payload(rate, path_mtu, headers),
            path_mtu,
            small: small.map(|mtu| (mtu, payload(rate, mtu, headers))),
        })
    }

    /// Two rails on one cable carry what it carries.
    fn wider(&self, other: &Self) -> Self {
        if self.after_headers >= other.after_headers {
            self.clone()
        } else {
            other.clone()
        }
    }

    fn plus(&self, other: &Self) -> Self {
        let reduced = |wire: &Self| wire.small.map_or(wire.after_headers, |(_, left)| left);
        let mtu = [self.small, other.small].into_iter().flatten();
        let mtu = mtu.map(|(mtu, _)| mtu).min();
        Self {
            rate: self.rate + other.rate,
            after_headers: self.after_headers + other.after_headers,
            path_mtu: self.path_mtu.max(other.path_mtu),
            small: mtu.map(|mtu| (mtu, reduced(self) + reduced(other))),
        }
    }

    fn with(&self, pcie: Option<PcieLimit>, rails: Vec<f64>) -> PairCeiling {
        let narrower = pcie.as_ref().filter(|pcie| pcie.gbps < self.after_headers);
        PairCeiling {
            gbps: narrower.map_or(self.after_headers, |pcie| pcie.gbps),
            binding: narrower.map_or(CeilingCause::PortRate, |_| CeilingCause::Pcie),
            port_rate: self.rate,
            after_headers: self.after_headers,
            path_mtu: self.path_mtu,
            small_path_mtu: self.small,
            pcie,
            rails,
        }
    }
}

fn payload(rate: f64, mtu: u32, headers: u32) -> f64 {
    rate * f64::from(mtu) / f64::from(mtu.saturating_add(headers).max(1))
}

fn header_bytes(near: &RunPort, far: &RunPort) -> u32 {
    let known = near.header_bytes.max(far.header_bytes);
    known.unwrap_or(USUAL_HEADER_BYTES)
}

fn best_mtu(port: &RunPort) -> u32 {
    match (&port.link_layer, port.path_mtu) {
        // The subnet manager's choice, not the node's.
        (Some(LinkLayer::InfiniBand), Some(mtu)) => mtu.0,
        _ => BEST_PATH_MTU,
    }
}

fn in_use(near: &RunPort, far: &RunPort) -> Option<u32> {
    let mtus = [near.path_mtu, far.path_mtu];
    mtus.into_iter().flatten().map(|mtu| mtu.0).min()
}

fn tcp(near: &RunPort, far: &RunPort) -> Option<PairCeiling> {
    let rate = near.rate_gbps?.0.min(far.rate_gbps?.0);
    let mtus = [near.interface_mtu, far.interface_mtu];
    let mtu = mtus.into_iter().flatten().map(|mtu| mtu.0).min();
    let mtu = mtu.unwrap_or(USUAL_MTU);
    let after_headers =
        rate * (f64::from(mtu) - TCP_INSIDE).max(0.0) / (f64::from(mtu) + TCP_OUTSIDE);
    Some(PairCeiling {
        gbps: after_headers,
        binding: CeilingCause::PortRate,
        port_rate: rate,
        after_headers,
        path_mtu: mtu,
        pcie: None,
        small_path_mtu: None,
        rails: Vec::new(),
    })
}

fn least_pcie<'a>(ends: [(&'a String, &'a RunPort); 2]) -> Option<PcieLimit> {
    let links = ends.into_iter().flat_map(|(host, port)| {
        port.pcie.iter().map(move |link| PcieLimit {
            gbps: link.gbps.0,
            host: host.clone(),
            link: Some((link.speed, link.width)),
        })
    });
    links.min_by(|a, b| a.gbps.total_cmp(&b.gbps))
}

/// `None` where a port's links are not known. A port that is used by two rails counts once.
fn pcie_together<'a>(host: &str, ports: impl Iterator<Item = &'a RunPort>) -> Option<PcieLimit> {
    let mut paths: Vec<Vec<(&str, f64)>> = Vec::new();
    for port in ports {
        let path: Vec<(&str, f64)> = port
            .pcie
            .iter()
            .map(|link| (link.at.as_str(), link.gbps.0))
            .collect();
        if path.is_empty() {
            return None;
        }
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    let slices: Vec<&[(&str, f64)]> = paths.iter().map(Vec::as_slice).collect();
    let single = paths.len() == 1;
    Some(PcieLimit {
        gbps: pcie::combined_flow(&slices),
        host: host.to_owned(),
        link: None,
    })
    .filter(|limit| limit.gbps.is_finite() && (!single || limit.gbps > 0.0))
}
