//! What is wrong, by root cause, with the fix.

use crosstie_model::{Finding, FindingRef, Severity};
use maud::{Markup, html};

use crate::run_report::RunReport;

/// Subjects, or consequences, that are named before the rest is counted.
const MAX_NAMED: usize = 12;
/// Groups on the page.
const MOST_GROUPS: usize = 60;

/// Roots that say the same of different subjects.
struct Group<'a> {
    roots: Vec<&'a Finding>,
    explained: Vec<&'a Finding>,
}

pub(super) fn section(report: &RunReport) -> Markup {
    let groups = groups(report);
    html! {
        section id="findings" aria-labelledby="findings-title" {
            h2 id="findings-title" { "Findings" }
            @if report.findings.is_empty() {
                @match report.unmeasured() {
                    Some(why) => p.lead { "No figure was measured: " (why) },
                    None => p.lead { "Nothing that was measured shows a fault." },
                }
            } @else {
                p.lead { "In the order in which to mend them. What follows from another finding stands with it." }
                @for group in groups.iter().take(MOST_GROUPS) { (article(group)) }
                @if groups.len() > MOST_GROUPS {
                    p.small.quiet { "The first " (MOST_GROUPS) " of " (groups.len()) " are shown; `crosstie report --json` has all." }
                }
            }
        }
    }
}

fn groups(report: &RunReport) -> Vec<Group<'_>> {
    let same = |a: &Finding, b: &Finding| {
        a.id == b.id && a.severity == b.severity && a.cause == b.cause && a.fix == b.fix
    };
    let mut groups: Vec<Group> = Vec::new();
    let roots = report
        .findings
        .iter()
        .filter(|finding| finding.caused_by.is_none());
    for root in roots {
        let known = groups.iter_mut().find(|group| {
            let first = group.roots.first();
            first.is_some_and(|first| same(first, root))
        });
        match known {
            Some(group) => group.roots.push(root),
            None => groups.push(Group {
                roots: vec![root],
                explained: Vec::new(),
            }),
        }
    }
    for group in &mut groups {
        group.explained = explained(report, &group.roots);
    }
    groups.sort_by_key(|group| group.roots.first().map(|root| root.severity));
    groups
}

/// All that roots explain, however far down.
fn explained<'a>(report: &'a RunReport, roots: &[&Finding]) -> Vec<&'a Finding> {
    let reference = |finding: &Finding| FindingRef {
        // What a run shows is of the cluster.
        host: None,
        id: finding.id.clone(),
        subject: finding.subject.clone(),
    };
    let mut causes: Vec<FindingRef> = roots.iter().map(|root| reference(root)).collect();
    let mut open: Vec<&Finding> = report
        .findings
        .iter()
        .filter(|finding| finding.caused_by.is_some())
        .collect();
    let mut found = Vec::new();
    loop {
        let is_next = |finding: &&Finding| {
            finding
                .caused_by
                .as_ref()
                .is_some_and(|cause| causes.contains(cause))
        };
        let (next, rest): (Vec<&Finding>, Vec<&Finding>) = open.into_iter().partition(is_next);
        if next.is_empty() {
            return found;
        }
        causes = next.iter().map(|finding| reference(finding)).collect();
        found.extend(next);
        open = rest;
    }
}

fn article(group: &Group) -> Markup {
    let Some(first) = group.roots.first() else {
        return html! {};
    };
    let finding = *first;
    let others = &group.roots[1..];
    let severity = finding.severity.to_string();
    html! {
        article class={ "finding " (severity) } {
            h3 {
                span class={ "badge " (severity) } { (sign(finding.severity)) " " (severity) }
                span { (finding.subject) }
                @if !others.is_empty() { span.quiet { "and " (others.len()) " more" } }
            }
            dl {
                dt { "Cause" } dd { (finding.cause) }
                @if !finding.fix.is_empty() { dt { "Fix" } dd { (fix(finding)) } }
                @if !finding.evidence.is_empty() { dt { "Evidence" } dd { (evidence(finding)) } }
                @if !others.is_empty() { dt { "Also" } dd { (subjects(others)) } }
                @if !group.explained.is_empty() { dt { "Explains" } dd { (subjects(&group.explained)) } }
                dt { "More" } dd { code { "crosstie explain " (finding.id) } }
            }
        }
    }
}

fn evidence(finding: &Finding) -> Markup {
    html! {
        ul {
            @for one in &finding.evidence {
                li { (one.what) ": " strong { (one.value) } @if !one.source.is_empty() { span.quiet { " (" (one.source) ")" } } }
            }
        }
    }
}

fn subjects(findings: &[&Finding]) -> Markup {
    html! {
        ul {
            @for one in findings.iter().take(MAX_NAMED) { li { (one.subject) " " span.quiet { (one.id) } } }
            @if findings.len() > MAX_NAMED { li.quiet { "and " (findings.len() - MAX_NAMED) " more" } }
        }
    }
}

/// The words, then the commands as such.
fn fix(finding: &Finding) -> Markup {
    let is_command = |line: &&str| {
        finding
            .commands
            .iter()
            .any(|command| command == line.trim())
    };
    let words: Vec<&str> = finding
        .fix
        .lines()
        .filter(|line| !is_command(line))
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
