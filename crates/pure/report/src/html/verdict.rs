//! The verdict in one sentence, and the figures that people ask for first.

use maud::{Markup, html};

use super::number;
use crate::run_report::{Grade, ReplacedNameCount, RunReport};

pub(super) fn section(report: &RunReport) -> Markup {
    let summary = &report.summary;
    html! {
        section id="verdict" aria-label="Verdict" {
            div class={ "verdict " (summary.verdict.name()) } {
                div.sign aria-hidden="true" { (summary.verdict.sign()) }
                div {
                    p.word { (word(summary.verdict)) }
                    p.sentence { (summary.sentence) }
                    @if let Some(first) = &summary.first { p.first { strong { "Look first at " } (first) } }
                }
            }
            (shared(report.replaced.as_deref()))
            (tiles(report))
        }
    }
}

fn word(verdict: Grade) -> &'static str {
    match verdict {
        Grade::Healthy => "Healthy",
        Grade::Warning => "Below its measure",
        Grade::Fault => "Faulty",
        Grade::Failed => "Incomplete or failed",
        Grade::NotGraded | Grade::NotApplicable => "Not graded",
    }
}

pub(super) fn shared(replaced: Option<&[ReplacedNameCount]>) -> Markup {
    html! {
        @if let Some(replaced) = replaced {
            p.note {
                strong { "Made to be shared. " }
                @if replaced.is_empty() {
                    "There was nothing to replace."
                } @else {
                    "Replaced, each by the same stand-in everywhere: "
                    @for (index, one) in replaced.iter().enumerate() {
                        @if index > 0 { ", " }
                        (one.to_string())
                    }
                    "."
                }
            }
        }
    }
}

fn tiles(report: &RunReport) -> Markup {
    let summary = &report.summary;
    let tile = |value: String, unit: &str, what: &str| {
        html! { div { dt { (what) } dd { (value) @if !unit.is_empty() { " " span.unit { (unit) } } } } }
    };
    html! {
        dl.tiles {
            (tile(summary.nodes.to_string(), "", "nodes"))
            @if summary.graded > 0 {
                (tile(format!("{} / {}", summary.healthy, summary.graded), "", "graded paths that are healthy"))
            }
            @if let Some(lowest) = summary.lowest_percent {
                (tile(lowest.to_string(), "%", "lowest share of a path's ceiling"))
            }
            @if let Some(rdma) = &summary.rdma_gbps {
                (tile(number::gbps(rdma.median), "Gb/s", "RDMA bandwidth of a path, median"))
            }
            @if let Some(tcp) = &summary.tcp_gbps {
                (tile(number::gbps(tcp.median), "Gb/s", "TCP bandwidth of a path, median"))
            }
            @if let Some(latency) = &summary.rdma_latency_us {
                (tile(number::microseconds(latency.median), "µs", "RDMA latency, median of medians"))
            }
        }
    }
}
