//! Which known limit a figure looks like.

use std::fmt;

use crate::ceiling::{CeilingCause, PairCeiling, PcieLimit};

/// Something that would explain a figure by its size alone.
#[derive(Debug, Clone, PartialEq)]
pub enum LikelyLimit {
    /// The port's rate less headers.
    Wire,
    PathMtu(u32),
    Pcie(PcieLimit),
    /// Only one of two functions of a cage is used.
    OneTwin,
    /// One rail of several carried nothing.
    RailIdle,
    /// A Spark's card that was started by plugging in the cable.
    HotPlug,
    /// What the cluster file gives a port.
    DeclaredRate,
    /// What other pairs reach.
    Peers,
}

/// A ConnectX-7 that was started by hot-plug was seen between 12 and 14 Gb/s.
const HOT_PLUG: std::ops::Range<f64> = 11.5..14.5;
/// Ports slower than this can be that slow by themselves.
const HOT_PLUG_FROM: f64 = 50.0;
/// A figure looks like a limit if it is at least this much of it.
const LEAST_SHARE: f64 = 0.8;
/// Clocks and counters are not exact.
const MOST_SHARE: f64 = 1.03;
/// Limits whose shares differ by less cannot be told apart.
const ALIKE: f64 = 0.02;

/// The limits that a figure matches best; several if they cannot be told apart by it. Empty: it looks like none.
pub fn matches(figure: f64, ceiling: &PairCeiling) -> Vec<LikelyLimit> {
    if ceiling.gbps >= HOT_PLUG_FROM && HOT_PLUG.contains(&figure) {
        return vec![LikelyLimit::HotPlug];
    }
    let shares: Vec<(f64, LikelyLimit)> = candidates(ceiling)
        .into_iter()
        .filter(|(gbps, _)| *gbps > 0.0)
        .map(|(gbps, limit)| (figure / gbps, limit))
        .filter(|(share, _)| (LEAST_SHARE..=MOST_SHARE).contains(share))
        .collect();
    let best = shares.iter().map(|(share, _)| (1.0 - share).abs());
    let Some(best) = best.min_by(f64::total_cmp) else {
        return Vec::new();
    };
    let alike = shares
        .into_iter()
        .filter(|(share, _)| (1.0 - share).abs() <= best + ALIKE);
    let mut alike: Vec<(f64, LikelyLimit)> = alike.collect();
    // What binds anyway needs no better explanation, unless another fits clearly better.
    alike.sort_by(|a, b| (1.0 - a.0).abs().total_cmp(&(1.0 - b.0).abs()));
    alike.into_iter().map(|(_, limit)| limit).collect()
}

fn candidates(ceiling: &PairCeiling) -> Vec<(f64, LikelyLimit)> {
    let mut found = Vec::new();
    match ceiling.binding {
        CeilingCause::Peers => found.push((ceiling.gbps, LikelyLimit::Peers)),
        CeilingCause::DeclaredRate => found.push((ceiling.gbps, LikelyLimit::DeclaredRate)),
        CeilingCause::PortRate => found.push((ceiling.gbps, LikelyLimit::Wire)),
        // The wire is not what stops it.
        CeilingCause::Pcie => {}
    }
    if let Some(pcie) = ceiling
        .pcie
        .clone()
        .filter(|pcie| pcie.gbps <= ceiling.after_headers)
    {
        found.push((pcie.gbps, LikelyLimit::Pcie(pcie)));
    }
    if let Some((mtu, gbps)) = ceiling.small_path_mtu
        && gbps < ceiling.gbps
    {
        found.push((gbps, LikelyLimit::PathMtu(mtu)));
    }
    if ceiling.rails.len() > 1 {
        let widest = ceiling.rails.iter().copied().fold(0.0, f64::max);
        if ceiling.rails.len() == 2 {
            found.push((widest, LikelyLimit::OneTwin));
        }
        let all: f64 = ceiling.rails.iter().sum();
        found.push(((all - widest).min(ceiling.gbps), LikelyLimit::RailIdle));
    }
    found
}

impl fmt::Display for LikelyLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wire => f.write_str("the port's rate less packet headers"),
            Self::PathMtu(mtu) => write!(f, "a path MTU of {mtu}"),
            Self::Pcie(pcie) => write!(f, "PCIe: {}", pcie.words()),
            Self::OneTwin => f.write_str("one twin of two"),
            Self::RailIdle => f.write_str("one rail idle"),
            Self::HotPlug => f.write_str("a card started by hot-plug (about 13 Gb/s)"),
            Self::DeclaredRate => f.write_str("the rate that the cluster file gives"),
            Self::Peers => f.write_str("what other pairs reach"),
        }
    }
}
