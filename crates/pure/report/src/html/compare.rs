//! Two runs on one page.

use maud::{Markup, html};

use super::{number, page, verdict::shared};
use crate::{
    compare::{DifferenceDirection, RunComparison, RunDifferenceReport, words},
    run_report::RunSummary,
};

/// The whole file.
pub fn compare_page(comparison: &RunComparison) -> String {
    let cluster = comparison
        .after
        .cluster
        .as_deref()
        .unwrap_or("unnamed cluster");
    let meta = format!(
        "{} compared with {} · Crosstie {} and {}",
        comparison.after.started,
        comparison.before.started,
        comparison.after.crosstie,
        comparison.before.crosstie
    );
    page::page(&page::HtmlPage {
        title: &format!("Fabric comparison: {cluster}"),
        meta: &meta,
        sections: &[("figures", "Figures"), ("changes", "Changes")],
        body: html! {
            (verdict(comparison))
            (figures(comparison))
            (changes(comparison))
        },
    })
}

fn verdict(comparison: &RunComparison) -> Markup {
    let (class, sign, word) = match (comparison.worse, comparison.better, comparison.changed) {
        (1.., _, _) => ("fault", "▼", "Worse"),
        (0, 1.., _) => ("healthy", "▲", "Better"),
        (0, 0, 1..) => ("warning", "●", "Changed"),
        (0, 0, 0) => ("healthy", "=", "The same"),
    };
    html! {
        section id="verdict" aria-label="Verdict" {
            div class={ "verdict " (class) } {
                div.sign aria-hidden="true" { (sign) }
                div { p.word { (word) } p.sentence { (comparison.sentence) } }
            }
            (shared(comparison.replaced.as_deref()))
        }
    }
}

fn figures(comparison: &RunComparison) -> Markup {
    let both = [&comparison.before.summary, &comparison.after.summary];
    let row = |what: &str, value: &dyn Fn(&RunSummary) -> Option<String>| {
        let values = both.map(value);
        html! {
            @if values.iter().any(Option::is_some) {
                tr {
                    th scope="row" { (what) }
                    @for value in &values { td.number { @match value { Some(value) => (value), None => "–" } } }
                }
            }
        }
    };
    html! {
        section id="figures" aria-labelledby="figures-title" {
            h2 id="figures-title" { "Figures" }
            div.scroll tabindex="0" role="region" aria-label="Figures of both runs" {
                table.both {
                    thead { tr { th scope="col" { "" } th.number scope="col" { "before" } th.number scope="col" { "after" } } }
                    tbody {
                        (row("nodes", &|run| Some(run.nodes.to_string())))
                        (row("graded paths", &|run| Some(run.graded.to_string())))
                        (row("healthy", &|run| Some(run.healthy.to_string())))
                        (row("warnings", &|run| Some(run.warnings.to_string())))
                        (row("faults", &|run| Some(run.faults.to_string())))
                        (row("tests without a figure", &|run| Some(run.failed.to_string())))
                        (row("lowest share of a ceiling, %", &|run| run.lowest_percent.map(|percent| percent.to_string())))
                        (row("RDMA bandwidth, median, Gb/s", &|run| run.rdma_gbps.as_ref().map(|middle| number::gbps(middle.median))))
                        (row("TCP bandwidth, median, Gb/s", &|run| run.tcp_gbps.as_ref().map(|middle| number::gbps(middle.median))))
                        (row("RDMA latency, median, µs", &|run| run.rdma_latency_us.as_ref().map(|middle| number::microseconds(middle.median))))
                        (row("TCP latency, median, µs", &|run| run.tcp_latency_us.as_ref().map(|middle| number::microseconds(middle.median))))
                    }
                }
            }
        }
    }
}

fn changes(comparison: &RunComparison) -> Markup {
    let of = |direction: DifferenceDirection| -> Vec<&RunDifferenceReport> {
        comparison
            .changes
            .iter()
            .filter(|change| change.direction == direction)
            .collect()
    };
    let groups = [
        ("Worse", of(DifferenceDirection::Worse)),
        ("Better", of(DifferenceDirection::Better)),
        ("Otherwise changed", of(DifferenceDirection::Changed)),
    ];
    html! {
        section id="changes" aria-labelledby="changes-title" {
            h2 id="changes-title" { "Changes" }
            p.lead { "Figures count if they differ by more than they wander within a run." }
            @if comparison.changes.is_empty() { p { "None." } }
            @for (title, changes) in groups.iter().filter(|(_, changes)| !changes.is_empty()) {
                h3 { (title) }
                div.scroll tabindex="0" role="region" aria-label=(title) {
                    table.changes {
                        thead { tr { @for column in ["", "what", "before", "after"] { th scope="col" { (column) } } } }
                        tbody { @for change in changes {
                            tr {
                                td { span class={ "badge " (change.direction.name()) } { (change.direction.sign()) " " (words(change.what, &change.after)) } }
                                td { (change.subject) }
                                td.nowrap { (change.before) }
                                td.nowrap { (change.after) }
                            }
                        } }
                    }
                }
            }
        }
    }
}
