//! Low bandwidth: the node, the path, or the fabric under load.

use std::collections::{BTreeMap, BTreeSet};

use crosstie_model::{
    Severity,
    run::{LostNode, MeasurementOutcome, ProofMode, TestConcurrency},
};

use super::{
    FaultKind, MeasuredFault,
    observe::{BandwidthObservations, LocatedFaults, decide},
    part_names,
};
use crate::{
    graded::{GradedPath, GradedRun},
    ledger::BandwidthLedger,
    locate::{LocatedFault, SuspectPart},
    statistics::median,
    verdict::{FAULT_PERCENT, FigureVerdict},
};

/// Cells that are named one by one; of more, the number says enough.
const MAX_NAMED: usize = 4;

pub(super) fn faults(graded: &GradedRun) -> Vec<MeasuredFault> {
    let observed = BandwidthObservations::new(graded);
    let decided = decide(&observed);
    let mut found: Vec<MeasuredFault> = graded.run.lost.iter().map(lost).collect();
    let hardware = decided.hardware.iter();
    found.extend(hardware.map(|group| of_group(&observed, group)));
    found.extend(contended(&observed, &decided));
    found.extend(incast(graded));
    found
}

fn lost(lost: &LostNode) -> MeasuredFault {
    let mut fault = MeasuredFault::new(FaultKind::NodeSlow, Severity::Fault, &lost.host);
    fault.hosts = vec![lost.host.clone()];
    fault.suspects = vec![format!("node {}", lost.host)];
    fault.cause = Some("the node went away while it was measured".to_owned());
    #[allow(clippy::cast_precision_loss)] // seconds of a run
    let seconds = lost.offset_milliseconds as f64 / 1000.0;
    fault.saw("lost", format!("after {seconds:.1} s: {}", lost.why));
    fault
}

fn of_group(observed: &BandwidthObservations, group: &LocatedFault) -> MeasuredFault {
    let cells: Vec<&GradedPath> = group
        .tests
        .iter()
        .filter_map(|test| observed.decisive(*test))
        .collect();
    let percents: Vec<f64> = cells
        .iter()
        .map(|cell| f64::from(cell.percent.unwrap_or(0)))
        .collect();
    let is_fault = median(&percents).is_none_or(|share| share < f64::from(FAULT_PERCENT));
    let severity = if is_fault {
        Severity::Fault
    } else {
        Severity::Warning
    };
    let first = group
        .parts
        .first()
        .copied()
        .unwrap_or(SuspectPart::Everything);
    let kind = if is_silent(observed, group) {
        FaultKind::PathLosesPackets
    } else {
        kind(observed, first, is_fault)
    };
    // One matching cannot tell a fault that all share from contention.
    let quick = observed.graded.run.header.options.mode == ProofMode::Quick;
    let unclear = quick && matches!(first, SuspectPart::Everything | SuspectPart::Rail(_));
    let (kind, severity) = if unclear {
        (FaultKind::FabricContended, Severity::Warning)
    } else {
        (kind, severity)
    };
    let mut fault = MeasuredFault::new(kind, severity, subject(observed, group, first));
    fault.suspects = suspects(observed, group, &cells);
    let nodes: BTreeSet<usize> = group
        .parts
        .iter()
        .flat_map(|part| part.nodes(&observed.places))
        .collect();
    fault.hosts = nodes
        .into_iter()
        .map(|node| observed.hosts[node].to_owned())
        .collect();
    fault.directions = group
        .tests
        .iter()
        .map(|test| {
            let cell = observed.cells[*test];
            (
                observed.ends[cell.from].clone(),
                observed.ends[cell.to].clone(),
            )
        })
        .collect();
    for cell in cells.iter().take(MAX_NAMED) {
        let (what, value) = figure(cell);
        fault.saw(what, value);
    }
    if cells.len() > MAX_NAMED {
        fault.saw("more like these", (cells.len() - MAX_NAMED).to_string());
    }
    // The worst one speaks for all: it has lost the most to the cause.
    let worst = cells.iter().min_by_key(|cell| cell.percent.unwrap_or(0));
    if let Some(worst) = worst {
        account(&mut fault, worst);
    }
    fault.advice = Some(if unclear {
        "No pair is good, so none can be compared with: contended, run --full.".to_owned()
    } else {
        format!(
            "Look at these, in this order: {}.",
            BandwidthLedger::CHECK_ORDER.join("; ")
        )
    });
    fault
}

/// No figure, and no answer either: nothing arrives.
fn is_silent(observed: &BandwidthObservations, group: &LocatedFault) -> bool {
    let cells = group.tests.iter().map(|test| observed.cells[*test]);
    let mut cells = cells.map(|cell| {
        let failed = observed.cell(cell.solo.or(cell.round)?);
        let (from, to) = (observed.ends[cell.from], observed.ends[cell.to]);
        let failed = failed.verdict == FigureVerdict::Failed;
        Some(failed && observed.is_unreachable(from, to))
    });
    !group.tests.is_empty() && cells.all(|silent| silent == Some(true))
}

fn kind(observed: &BandwidthObservations, first: SuspectPart, is_fault: bool) -> FaultKind {
    // Of two nodes everything is one path: the set says what it may be.
    if !is_fault || observed.hosts.len() < 3 {
        return FaultKind::BandwidthBelowCeiling;
    }
    match first {
        SuspectPart::Everything | SuspectPart::Rail(_) => FaultKind::BandwidthBelowCeiling,
        part if part.is_path() => FaultKind::PairSlow,
        // A direct cable is a path; a switch's is as good as the node's port.
        SuspectPart::Cable(cable)
        | SuspectPart::CableFrom(cable, _)
        | SuspectPart::CableTo(cable, _) => {
            let of_cable = observed
                .places
                .iter()
                .filter(|place| place.cable == Some(cable));
            let nodes: BTreeSet<usize> = of_cable.map(|place| place.node).collect();
            if nodes.len() > 1 {
                FaultKind::PairSlow
            } else {
                FaultKind::NodeSlow
            }
        }
        _ => FaultKind::NodeSlow,
    }
}

fn subject(observed: &BandwidthObservations, group: &LocatedFault, first: SuspectPart) -> String {
    let host = |node: usize| observed.hosts[node];
    let of_cells = || {
        let cells = group.tests.iter().map(|test| observed.cells[*test]);
        let cells: Vec<_> = cells.collect();
        match cells.as_slice() {
            [cell] => part_names::direction(observed.ends[cell.from], observed.ends[cell.to]),
            [cell, ..] => part_names::both_ways(observed.ends[cell.from], observed.ends[cell.to]),
            [] => "every pair".to_owned(),
        }
    };
    if observed.hosts.len() < 3 {
        return of_cells();
    }
    let rail = |port: usize| match observed.places[port].rail {
        0 => String::new(),
        rail => format!(", rail {rail}"),
    };
    match first {
        SuspectPart::Everything => "every pair".to_owned(),
        SuspectPart::Rail(rail) => format!("every pair of rail {rail}"),
        SuspectPart::Node(node) => host(node).to_owned(),
        SuspectPart::NodeSending(node) | SuspectPart::CableFrom(_, node) => {
            format!("{}, sending", host(node))
        }
        SuspectPart::NodeReceiving(node) | SuspectPart::CableTo(_, node) => {
            format!("{}, receiving", host(node))
        }
        SuspectPart::Port(port) => {
            format!("{}{}", part_names::end(observed.ends[port]), rail(port))
        }
        SuspectPart::PortSending(port) => {
            format!("{}, sending", part_names::end(observed.ends[port]))
        }
        SuspectPart::PortReceiving(port) => {
            format!("{}, receiving", part_names::end(observed.ends[port]))
        }
        SuspectPart::Between(a, b) => format!("{} ↔ {}, all rails", host(a), host(b)),
        SuspectPart::BetweenOneWay(a, b) => format!("{} → {}, all rails", host(a), host(b)),
        SuspectPart::Cable(_) | SuspectPart::Path(..) | SuspectPart::PathOneWay(..) => of_cells(),
    }
}

/// Another part of the set says the same: a node has its port, and a cable between two nodes is the path.
fn is_said(observed: &BandwidthObservations, all: &[SuspectPart], part: SuspectPart) -> bool {
    let node = |place: usize| observed.places[place].node;
    match part {
        SuspectPart::Port(at) => all.contains(&SuspectPart::Node(node(at))),
        SuspectPart::PortSending(at) => all.contains(&SuspectPart::NodeSending(node(at))),
        SuspectPart::PortReceiving(at) => all.contains(&SuspectPart::NodeReceiving(node(at))),
        SuspectPart::Path(..) => all.iter().any(|part| matches!(part, SuspectPart::Cable(_))),
        SuspectPart::PathOneWay(..) => {
            let cable = |part: &SuspectPart| {
                matches!(part, SuspectPart::CableFrom(..) | SuspectPart::CableTo(..))
            };
            all.iter().any(cable)
        }
        _ => false,
    }
}

/// What the set is, less what the evidence rules out.
fn suspects(
    observed: &BandwidthObservations,
    group: &LocatedFault,
    cells: &[&GradedPath],
) -> Vec<String> {
    let all = || {
        let parts = group.parts.iter().copied();
        let parts = parts.filter(|part| !is_said(observed, &group.parts, *part));
        parts
            .map(|part| part_names::suspect(observed.names(), part))
            .collect()
    };
    let looks_hot_plugged = cells
        .iter()
        .any(|cell| cell.limits.contains(&crate::LikelyLimit::HotPlug));
    if !looks_hot_plugged {
        return all();
    }
    // The kernel's log decides between two ends.
    let run = observed.graded.run;
    let nodes: BTreeSet<usize> = group
        .parts
        .iter()
        .flat_map(|part| part.nodes(&observed.places))
        .collect();
    let hosts = nodes.into_iter().map(|node| observed.hosts[node]);
    let plugged = hosts.filter(|host| run.node(host).is_some_and(|node| node.hot_plugged));
    let plugged: Vec<String> = plugged
        .map(|host| format!("node {host}, whose card was started by hot-plug"))
        .collect();
    if plugged.is_empty() { all() } else { plugged }
}

/// `a → b` and `55.2 Gb/s, 98 % of 56.4 Gb/s`.
fn figure(cell: &GradedPath) -> (String, String) {
    let what = part_names::direction(&cell.best.from, &cell.best.to);
    let value = match (&cell.best.outcome, cell.gbps, &cell.ceiling, cell.percent) {
        (MeasurementOutcome::Failed { error }, ..) => format!("not measured: {error}"),
        (_, Some(gbps), Some(ceiling), Some(percent)) => {
            format!(
                "{}, {percent} % of {}",
                part_names::gbps(gbps),
                part_names::gbps(ceiling.gbps)
            )
        }
        (_, Some(gbps), ..) => part_names::gbps(gbps),
        _ => "not measured".to_owned(),
    };
    (what, value)
}

/// What the figure looks like, and what the ledger says.
fn account(fault: &mut MeasuredFault, cell: &GradedPath) {
    let looks: Vec<String> = cell.limits.iter().map(ToString::to_string).collect();
    let mut causes = Vec::new();
    if !looks.is_empty() {
        causes.push(format!("the figure looks like {}", looks.join(", or ")));
    }
    if let Some(ledger) = &cell.ledger {
        for share in &ledger.shares {
            let words: Vec<String> = share.causes.iter().map(|cause| cause.words()).collect();
            let most = if share.at_most { "at most " } else { "" };
            causes.push(format!(
                "{most}{} lost to {}",
                part_names::gbps(share.gbps),
                words.join(" or ")
            ));
            for (what, value) in &share.evidence {
                fault.saw(what, value);
            }
        }
        if ledger.unexplained > 0.05 * ledger.ceiling {
            causes.push(format!(
                "{} unexplained",
                part_names::gbps(ledger.unexplained)
            ));
        }
    }
    if !fault.suspects.is_empty() {
        causes.push(format!("at fault is {}", fault.suspects.join(", or ")));
    }
    fault.cause = (!causes.is_empty()).then(|| causes.join("; "));
}

fn contended(observed: &BandwidthObservations, decided: &LocatedFaults) -> Option<MeasuredFault> {
    let first = decided.contended.first()?;
    let count = decided.contended.len();
    let mut fault = MeasuredFault::new(
        FaultKind::FabricContended,
        Severity::Warning,
        format!("{count} directions under load"),
    );
    let cell = observed.cells[*first];
    for (what, index) in [("together", cell.round), ("alone", cell.solo)] {
        if let Some(index) = index {
            let (direction, value) = figure(observed.cell(index));
            fault.saw(format!("{direction}, {what}"), value);
        }
    }
    fault.saw(
        "directions that recovered alone",
        decided.confirmed.to_string(),
    );
    fault.saw("directions that were low together", count.to_string());
    Some(fault)
}

/// Many to one: the receiver's port should be full.
fn incast(graded: &GradedRun) -> Vec<MeasuredFault> {
    let mut receivers: BTreeMap<(u32, &str), Vec<&GradedPath>> = BTreeMap::new();
    for cell in graded
        .cells
        .iter()
        .filter(|cell| cell.best.phase == TestConcurrency::Incast)
    {
        let key = (cell.best.round, cell.best.to.host.as_str());
        receivers.entry(key).or_default().push(cell);
    }
    let short = receivers.into_values().filter_map(|cells| {
        let sum: f64 = cells.iter().filter_map(|cell| cell.gbps).sum();
        let ceiling = cells.iter().filter_map(|cell| cell.ceiling.as_ref());
        let ceiling = crate::statistics::most(ceiling.map(|ceiling| ceiling.gbps))?;
        let share = crate::verdict::percent(sum, ceiling)?;
        // What every sender reached alone is judged elsewhere.
        (share < FAULT_PERCENT).then(|| {
            let to = &cells[0].best.to.host;
            let mut fault = MeasuredFault::new(
                FaultKind::FabricContended,
                Severity::Warning,
                format!("many to {to}"),
            );
            fault.hosts = vec![to.clone()];
            fault.saw(
                format!("{} senders together", cells.len()),
                format!(
                    "{}, {share} % of {}",
                    part_names::gbps(sum),
                    part_names::gbps(ceiling)
                ),
            );
            fault.directions = cells
                .iter()
                .map(|cell| (cell.best.from.clone(), cell.best.to.clone()))
                .collect();
            fault
        })
    });
    short.collect()
}
