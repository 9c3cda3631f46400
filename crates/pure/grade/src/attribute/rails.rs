//! All rails at once: one that carries nothing, and sums that are too low.

use crosstie_model::{Severity, run::Measurement};

use super::{FaultKind, MeasuredFault, part_names};
use crate::{
    graded::{GradedRun, RailSum},
    limit::LikelyLimit,
    verdict::FigureVerdict,
};

/// Less than this share of the busiest rail's bytes is none: a few packets are no traffic.
const IDLE_SHARE: f64 = 0.01;

pub(super) fn faults(graded: &GradedRun) -> Vec<MeasuredFault> {
    let mut found = Vec::new();
    for sum in &graded.rail_sums {
        let idle = idle(sum);
        found.extend(idle.iter().map(|rail| idle_rail(sum, rail)));
        let low = matches!(sum.verdict, FigureVerdict::Fault | FigureVerdict::Warning);
        if idle.is_empty() && low {
            found.extend(below(graded, sum));
        }
    }
    found
}

fn bytes(rail: &Measurement) -> u64 {
    rail.bandwidth().map_or(0, |figures| figures.bytes)
}

#[allow(clippy::cast_precision_loss)] // a share
fn idle<'a>(sum: &RailSum<'a>) -> Vec<&'a Measurement> {
    let busiest = sum.rails.iter().map(|rail| bytes(rail)).max().unwrap_or(0);
    let least = busiest as f64 * IDLE_SHARE;
    let measured = sum
        .rails
        .iter()
        .filter(|rail| rail.bandwidth().is_some() && busiest > 0);
    measured
        .filter(|rail| (bytes(rail) as f64) < least)
        .copied()
        .collect()
}

fn idle_rail(sum: &RailSum, rail: &Measurement) -> MeasuredFault {
    let subject = format!(
        "{} → {}, rail {}",
        rail.from.host, rail.to.host, rail.from.rail
    );
    let mut fault = MeasuredFault::new(FaultKind::RailIdle, Severity::Fault, subject);
    fault.hosts = vec![rail.from.host.clone(), rail.to.host.clone()];
    fault.of(rail);
    for one in &sum.rails {
        fault.saw(
            format!(
                "bytes on rail {}, {}",
                one.from.rail,
                part_names::direction(&one.from, &one.to)
            ),
            bytes(one).to_string(),
        );
    }
    fault
}

/// The rails by themselves are good, and together they are not.
fn below(graded: &GradedRun, sum: &RailSum) -> Option<MeasuredFault> {
    let first = sum.rails.first()?;
    let (share, ceiling) = (sum.percent?, sum.ceiling.as_ref()?);
    // What is low alone explains it.
    let alone_is_low = sum.rails.iter().any(|rail| {
        graded.cells.iter().any(|cell| {
            cell.best.from == rail.from
                && cell.best.to == rail.to
                && matches!(
                    cell.verdict,
                    FigureVerdict::Warning | FigureVerdict::Fault | FigureVerdict::Failed
                )
        })
    });
    if alone_is_low {
        return None;
    }
    let severity = if sum.verdict == FigureVerdict::Fault {
        Severity::Fault
    } else {
        Severity::Warning
    };
    let subject = format!("{} → {}, all rails", first.from.host, first.to.host);
    let one_rail = sum
        .limits
        .iter()
        .any(|limit| matches!(limit, LikelyLimit::OneTwin | LikelyLimit::RailIdle));
    let mut fault = MeasuredFault::new(FaultKind::BandwidthBelowCeiling, severity, subject);
    fault.hosts = vec![first.from.host.clone(), first.to.host.clone()];
    fault.directions = sum
        .rails
        .iter()
        .map(|rail| (rail.from.clone(), rail.to.clone()))
        .collect();
    fault.suspects = sum.limits.iter().map(ToString::to_string).collect();
    fault.saw(
        "all rails together",
        format!(
            "{}, {share} % of {}",
            part_names::gbps(sum.gbps),
            part_names::gbps(ceiling.gbps)
        ),
    );
    for rail in &sum.rails {
        let figure = rail
            .bandwidth()
            .and_then(crosstie_model::run::BandwidthFigures::gbps);
        let figure = figure.map_or_else(|| "not measured".to_owned(), part_names::gbps);
        fault.saw(format!("rail {}", rail.from.rail), figure);
    }
    if one_rail {
        fault.cause = Some(format!(
            "the sum looks like {}",
            fault.suspects.join(", or ")
        ));
    }
    Some(fault)
}
