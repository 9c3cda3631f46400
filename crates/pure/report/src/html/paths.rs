//! All graded figures as one table.

use maud::{Markup, html};

use super::{
    number,
    table::{MOST_ROWS, badge, left_out},
};
use crate::run_report::{Grade, PairReport, RunReport};

pub(super) fn table(report: &RunReport) -> Markup {
    let mut shown: Vec<&PairReport> = report.pairs.iter().filter(|pair| is_shown(pair)).collect();
    shown.sort_by_key(|pair| {
        std::cmp::Reverse((pair.verdict, u32::MAX - pair.percent.unwrap_or(u32::MAX)))
    });
    html! {
        @if !shown.is_empty() {
            details {
                summary { "Every path, the worst first (" (shown.len()) ")" }
                div.scroll tabindex="0" role="region" aria-label="Every path" {
                    table.paths {
                        thead { tr {
                            @for column in ["path", "ports", "rail", "test", "Gb/s", "slowest 0.1 s", "ceiling", "of it", "grade", "remarks"] {
                                th scope="col" { (column) }
                            }
                        } }
                        tbody { @for pair in shown.iter().take(MOST_ROWS) { (row(pair)) } }
                    }
                }
                (left_out(MOST_ROWS, shown.len()))
            }
        }
    }
}

/// Graded figures, failures of anything, and what was not graded for a reason that a person should know.
fn is_shown(pair: &PairReport) -> bool {
    pair.verdict.is_graded() || pair.verdict == Grade::Failed || !pair.doubts.is_empty()
}

fn row(pair: &PairReport) -> Markup {
    let ports = match (&pair.from_device, &pair.to_device) {
        (Some(from), Some(to)) if from == to => from.clone(),
        (Some(from), Some(to)) => format!("{from} → {to}"),
        (from, to) => from.clone().or(to.clone()).unwrap_or_default(),
    };
    let remarks = pair.why.iter().chain(&pair.limit).chain(&pair.doubts);
    let remarks: Vec<&str> = remarks.map(String::as_str).collect();
    html! {
        tr {
            td { (pair.from) " → " (pair.to) }
            td { (ports) }
            td.number { (pair.rail) }
            td.nowrap { (pair.kind) @if pair.phase != "solo" { ", " (pair.phase) } }
            td.number { @if let Some(gbps) = pair.gbps { (number::gbps(gbps)) } }
            td.number { @if let Some(gbps) = pair.worst_gbps { (number::gbps(gbps)) } }
            td.number { @if let Some(gbps) = pair.ceiling_gbps { (number::gbps(gbps)) } }
            td.number { @if let Some(percent) = pair.percent { (number::percent(percent)) } }
            td { (badge(pair.verdict)) }
            td { (remarks.join("; ")) }
        }
    }
}
