//! What is wrong, by root cause, with the fix.

use crosstie_model::{Finding, Severity};
use maud::{Markup, html};

use crate::run_report::{FindingRef, PlacedFinding, RunReport};

pub(super) fn section(report: &RunReport) -> Markup {
    let mut roots: Vec<&PlacedFinding> = report
        .findings
        .iter()
        .filter(|placed| placed.caused_by.is_none())
        .collect();
    roots.sort_by_key(|placed| placed.finding.severity);
    html! {
        section id="findings" aria-labelledby="findings-title" {
            h2 id="findings-title" { "Findings" }
            @if report.findings.is_empty() {
                p.lead { "Nothing that was measured shows a fault." }
            } @else {
                p.lead { "In the order in which to mend them. What follows from another finding stands with it." }
                @for root in roots { (finding(root, &explained(report, root))) }
            }
        }
    }
}

/// All that it explains, however far down.
fn explained<'a>(report: &'a RunReport, root: &PlacedFinding) -> Vec<&'a PlacedFinding> {
    let is_cause = |cause: &FindingRef, placed: &PlacedFinding| {
        let finding = &placed.finding;
        cause.host == placed.host && cause.id == finding.id && cause.subject == finding.subject
    };
    let mut found: Vec<&PlacedFinding> = Vec::new();
    loop {
        let next = report.findings.iter().find(|placed| {
            let follows = placed.caused_by.as_ref().is_some_and(|cause| {
                is_cause(cause, root) || found.iter().any(|known| is_cause(cause, known))
            });
            follows && !found.iter().any(|known| std::ptr::eq(*known, *placed))
        });
        match next {
            Some(next) => found.push(next),
            None => return found,
        }
    }
}

fn finding(placed: &PlacedFinding, explained: &[&PlacedFinding]) -> Markup {
    let finding = &placed.finding;
    html! {
        article class={ "finding " (finding.severity.to_string()) } {
            h3 {
                span class={ "badge " (finding.severity.to_string()) } { (sign(finding.severity)) " " (finding.severity.to_string()) }
                span { (finding.subject) }
                @if let Some(host) = placed.host.as_ref().filter(|host| !finding.subject.contains(*host)) { span.quiet { (host) } }
            }
            dl {
                dt { "Cause" } dd { (finding.cause) }
                @if !finding.fix.is_empty() { dt { "Fix" } dd { (prose(finding)) } }
                @if !finding.evidence.is_empty() {
                    dt { "Evidence" }
                    dd { ul { @for one in &finding.evidence { li { (one.what) ": " strong { (one.value) } @if !one.source.is_empty() { span.quiet { " (" (one.source) ")" } } } } } }
                }
                @if !explained.is_empty() {
                    dt { "Explains" }
                    dd { ul { @for one in explained { li { (one.finding.subject) " " span.quiet { (one.finding.id) } } } } }
                }
                dt { "Check" } dd { code { "crosstie explain " (finding.id) } }
            }
        }
    }
}

/// The words, then the commands as such.
fn prose(finding: &Finding) -> Markup {
    let lines = finding.fix.lines();
    let words: Vec<&str> = lines
        .filter(|line| {
            !finding
                .commands
                .iter()
                .any(|command| command == line.trim())
        })
        .collect();
    html! {
        (words.join(" "))
        @if !finding.commands.is_empty() { pre { (finding.commands.join("\n")) } }
    }
}

fn sign(severity: Severity) -> &'static str {
    match severity {
        Severity::Fault => "✗",
        Severity::Warning => "!",
        Severity::Info => "i",
    }
}
