//! Two runs: what changed, beyond the spread of the figures.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use crosstie_model::run::{
    BandwidthFigures, MeasuredEnd, RunNode, StoredRun, TestConcurrency, TestKind,
};

use crate::{
    attribute::part_names,
    graded::{GradedPath, GradedRun},
    statistics::spread,
};

/// Smaller changes are no news even where the windows of one run agree better.
const LEAST_CHANGE: f64 = 0.05;
/// Spreads that a change must exceed.
const SPREADS: f64 = 3.0;

#[derive(Debug, Clone, PartialEq)]
pub struct RunDifference {
    pub what: DifferenceKind,
    /// The node, port or pair.
    pub subject: String,
    pub before: String,
    pub after: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DifferenceKind {
    Node,
    Kernel,
    RdmaDriver,
    RdmaCore,
    GpuDriver,
    Nccl,
    Firmware,
    Mtu,
    Rate,
    Pcie,
    Cabling,
    /// A figure that got better.
    Faster,
    /// A figure that got worse.
    Slower,
    /// A pair that was measured in one run and failed in the other.
    Working,
}

impl DifferenceKind {
    pub fn words(self) -> &'static str {
        match self {
            Self::Node => "node",
            Self::Kernel => "kernel",
            Self::RdmaDriver => "RDMA driver",
            Self::RdmaCore => "rdma-core",
            Self::GpuDriver => "GPU driver",
            Self::Nccl => "NCCL",
            Self::Firmware => "firmware",
            Self::Mtu => "MTU",
            Self::Rate => "port rate",
            Self::Pcie => "PCIe link",
            Self::Cabling => "cabling",
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::Working => "works",
        }
    }
}

/// In the order of [`DifferenceKind`]: what was done first, then what came of it.
pub fn compare(before: &StoredRun, after: &StoredRun) -> Vec<RunDifference> {
    let mut changes = Vec::new();
    nodes(before, after, &mut changes);
    cabling(before, after, &mut changes);
    figures(before, after, &mut changes);
    changes.sort_by_key(|change| change.what);
    changes
}

const NONE: &str = "none";

fn push(
    changes: &mut Vec<RunDifference>,
    what: DifferenceKind,
    subject: &str,
    before: Option<&str>,
    after: Option<&str>,
) {
    if before != after {
        changes.push(RunDifference {
            what,
            subject: subject.to_owned(),
            before: before.unwrap_or(NONE).to_owned(),
            after: after.unwrap_or(NONE).to_owned(),
        });
    }
}

fn nodes(before: &StoredRun, after: &StoredRun, changes: &mut Vec<RunDifference>) {
    let hosts = |run: &StoredRun| -> BTreeSet<String> {
        run.header
            .nodes
            .iter()
            .map(|node| node.host.clone())
            .collect()
    };
    for host in hosts(before).union(&hosts(after)) {
        match (before.node(host), after.node(host)) {
            (Some(old), Some(new)) => node(host, old, new, changes),
            (old, new) => {
                let word = |node: Option<&RunNode>| node.map(|_| "there");
                push(changes, DifferenceKind::Node, host, word(old), word(new));
            }
        }
    }
}

fn node(host: &str, old: &RunNode, new: &RunNode, changes: &mut Vec<RunDifference>) {
    let listed = |versions: &[String]| (!versions.is_empty()).then(|| versions.join(", "));
    let texts = [
        (
            DifferenceKind::Kernel,
            old.kernel.clone(),
            new.kernel.clone(),
        ),
        (
            DifferenceKind::RdmaDriver,
            old.rdma_driver.clone(),
            new.rdma_driver.clone(),
        ),
        (
            DifferenceKind::RdmaCore,
            old.rdma_core.clone(),
            new.rdma_core.clone(),
        ),
        (
            DifferenceKind::GpuDriver,
            old.gpu_driver.clone(),
            new.gpu_driver.clone(),
        ),
        (DifferenceKind::Nccl, listed(&old.nccl), listed(&new.nccl)),
    ];
    for (what, old, new) in texts {
        push(changes, what, host, old.as_deref(), new.as_deref());
    }
    for port in &old.ports {
        let same = |other: &&crosstie_model::run::RunPort| {
            other.device == port.device && other.port == port.port
        };
        let Some(now) = new.ports.iter().find(same) else {
            let subject = format!("{host} {}", port.device);
            push(changes, DifferenceKind::Node, &subject, Some("there"), None);
            continue;
        };
        let subject = format!("{host} {}", port.device);
        let firmware = [port, now].map(|port| port.firmware.as_deref());
        push(
            changes,
            DifferenceKind::Firmware,
            &subject,
            firmware[0],
            firmware[1],
        );
        let mtu = [port, now].map(|port| port.interface_mtu.map(|mtu| mtu.to_string()));
        push(
            changes,
            DifferenceKind::Mtu,
            &subject,
            mtu[0].as_deref(),
            mtu[1].as_deref(),
        );
        let rate = [port, now].map(|port| port.rate_gbps.map(|rate| rate.to_string()));
        push(
            changes,
            DifferenceKind::Rate,
            &subject,
            rate[0].as_deref(),
            rate[1].as_deref(),
        );
        let pcie = [port, now].map(|port| {
            let narrowest = port
                .pcie
                .iter()
                .min_by(|a, b| a.gbps.0.total_cmp(&b.gbps.0));
            narrowest.map(|link| format!("{} x{}", link.speed, link.width))
        });
        push(
            changes,
            DifferenceKind::Pcie,
            &subject,
            pcie[0].as_deref(),
            pcie[1].as_deref(),
        );
    }
}

fn cabling(before: &StoredRun, after: &StoredRun, changes: &mut Vec<RunDifference>) {
    // Which end is written first is no matter.
    let cables = |run: &StoredRun| -> BTreeMap<Vec<String>, String> {
        let cables = run.header.cabling.iter();
        let keyed = cables.map(|cable| {
            let mut ends: Vec<String> = cable.ends().map(ToString::to_string).collect();
            ends.sort();
            if let crosstie_model::Cable::Switched { plane, .. } = cable {
                ends.push(plane.clone());
            }
            (ends, cable.to_string())
        });
        keyed.collect()
    };
    let (old, new) = (cables(before), cables(after));
    for (key, cable) in &old {
        if !new.contains_key(key) {
            push(changes, DifferenceKind::Cabling, cable, Some("there"), None);
        }
    }
    for (key, cable) in &new {
        if !old.contains_key(key) {
            push(changes, DifferenceKind::Cabling, cable, None, Some("there"));
        }
    }
}

type Key<'a> = (TestKind, bool, &'a str, &'a str, u32);

/// A figure, and how far it wanders by itself.
struct Figure {
    gbps: Option<f64>,
    spread: f64,
}

fn figures(before: &StoredRun, after: &StoredRun, changes: &mut Vec<RunDifference>) {
    let (old, new) = (GradedRun::new(before), GradedRun::new(after));
    let (old, new) = (by_key(&old), by_key(&new));
    for (key, old) in &old {
        let Some(new) = new.get(key) else { continue };
        let (kind, _, from, to, rail) = *key;
        let rail = if rail == 0 {
            String::new()
        } else {
            format!(", rail {rail}")
        };
        let subject = format!("{from} → {to}{rail}, {}", kind.name());
        match (old.gbps, new.gbps) {
            (Some(was), Some(is)) => {
                let margin = (was.max(is) * LEAST_CHANGE).max(SPREADS * old.spread.max(new.spread));
                if (was - is).abs() > margin {
                    let what = if is > was {
                        DifferenceKind::Faster
                    } else {
                        DifferenceKind::Slower
                    };
                    let [before, after] = [was, is].map(part_names::gbps);
                    changes.push(RunDifference {
                        what,
                        subject,
                        before,
                        after,
                    });
                }
            }
            (was, is) if was.is_some() != is.is_some() => {
                let word = |figure: Option<f64>| {
                    figure.map_or_else(|| "not measured".to_owned(), part_names::gbps)
                };
                changes.push(RunDifference {
                    what: DifferenceKind::Working,
                    subject,
                    before: word(was),
                    after: word(is),
                });
            }
            _ => {}
        }
    }
}

/// A pair alone and in a round is the same to whoever compares two runs, if both ran so.
fn by_key<'a>(graded: &GradedRun<'a>) -> BTreeMap<Key<'a>, Figure> {
    let cells = graded.cells.iter().filter(|cell| {
        cell.best.kind.is_bandwidth()
            && matches!(
                cell.best.phase,
                TestConcurrency::Solo | TestConcurrency::Round
            )
    });
    let keyed = cells.map(|cell| {
        let (from, to): (&'a MeasuredEnd, &'a MeasuredEnd) = (&cell.best.from, &cell.best.to);
        let key = (
            cell.best.kind,
            cell.best.phase == TestConcurrency::Solo,
            from.host.as_str(),
            to.host.as_str(),
            from.rail,
        );
        (key, figure(cell))
    });
    keyed.collect()
}

fn figure(cell: &GradedPath) -> Figure {
    let windows: Vec<f64> = cell
        .best
        .bandwidth()
        .into_iter()
        .flat_map(BandwidthFigures::window_gbps)
        .collect();
    Figure {
        gbps: cell.gbps,
        spread: spread(&windows).unwrap_or(0.0),
    }
}
