//! What was run, when, and with which versions.

use std::collections::BTreeMap;

use maud::{Markup, html};

use super::number;
use crate::run_report::{Grade, RunReport};

/// Below the title.
pub(super) fn line(report: &RunReport) -> String {
    format!(
        "{} · {} run of {} · Crosstie {}",
        moment(&report.started),
        report.options.mode,
        number::duration(report.end.milliseconds),
        report.crosstie,
    )
}

/// `2026-11-01 12:00 UTC`, where it is a time as we write it.
fn moment(started: &str) -> String {
    match (started.split_once('T'), started.ends_with('Z')) {
        (Some((date, time)), true) if started.is_ascii() && time.len() == 9 => {
            format!("{date} {} UTC", time.get(..5).unwrap_or(time))
        }
        _ => started.to_owned(),
    }
}

pub(super) fn section(report: &RunReport) -> Markup {
    let options = &report.options;
    let sizes: Vec<String> = options
        .sizes
        .iter()
        .map(|size| number::size(*size))
        .collect();
    let queue_pairs: Vec<String> = options
        .queue_pairs
        .iter()
        .map(ToString::to_string)
        .collect();
    html! {
        section id="run" aria-labelledby="run-title" {
            h2 id="run-title" { "What was run" }
            dl.facts {
                dt { "Began" } dd { (report.started) }
                dt { "Lasted" } dd { (number::duration(report.end.milliseconds)) ", " (report.end.state)
                    @if let Some(error) = &report.end.error { ": " (error) } }
                dt { "Mode" } dd { (options.mode) @if let Some(seconds) = options.soak_seconds { ", " (number::duration(seconds.saturating_mul(1000))) " of traffic" } }
                dt { "Each test" } dd { (options.test_milliseconds) " ms" }
                dt { "Message sizes" } dd { (sizes.join(", ")) }
                dt { "Queue pairs" } dd { (queue_pairs.join(", ")) "; the best is graded" }
                @if let Some(rate) = options.declared_rate_gbps { dt { "Declared rate" } dd { (number::gbps(rate)) " Gb/s a port, by the cluster file" } }
                dt { "Measured" } dd { (report.summary.measurements) " measurements between " (report.summary.nodes) " nodes" }
                dt { "Crosstie" } dd { (report.crosstie) }
            }
            (lost(report))
            (tests(report))
        }
    }
}

fn lost(report: &RunReport) -> Markup {
    html! {
        @if !report.lost.is_empty() {
            h3 { "Nodes that went away" }
            ul { @for lost in &report.lost {
                li { strong { (lost.host) } " after " (number::duration(lost.milliseconds)) ": " (lost.why) }
            } }
        }
    }
}

/// How many figures of each kind there are, and what became of them.
fn tests(report: &RunReport) -> Markup {
    let mut counts: BTreeMap<(&str, &str), BTreeMap<Grade, usize>> = BTreeMap::new();
    for pair in &report.pairs {
        let grades = counts.entry((pair.kind, pair.phase)).or_default();
        *grades.entry(pair.verdict).or_default() += 1;
    }
    let shown: Vec<Grade> = Grade::ALL
        .into_iter()
        .filter(|grade| counts.values().any(|grades| grades.contains_key(grade)))
        .collect();
    html! {
        @if !counts.is_empty() {
            div.scroll tabindex="0" role="region" aria-label="Tests" {
                table.tests {
                    caption { "Figures by test: the best of all tries counts once" }
                    thead { tr { th scope="col" { "test" } th scope="col" { "beside" } @for grade in &shown { th.number scope="col" { (grade.words()) } } } }
                    tbody { @for ((kind, phase), grades) in &counts {
                        tr {
                            th.nowrap scope="row" { (kind) }
                            td { (beside(phase)) }
                            @for grade in &shown { td.number { @if let Some(count) = grades.get(grade) { (count) } } }
                        }
                    } }
                }
            }
        }
    }
}

fn beside(phase: &str) -> &'static str {
    match phase {
        "solo" => "nothing",
        "bidirectional" => "the other direction",
        "all-rails" => "the other rails",
        "round" => "other pairs",
        "incast" => "other senders",
        "soak" => "other pairs, for long",
        _ => "",
    }
}
