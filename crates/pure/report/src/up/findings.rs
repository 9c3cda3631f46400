//! What the doctor says before a change: what stops it, what it mends, and what it leaves.

use crosstie_doctor::Diagnosis;
use crosstie_model::{Finding, Severity};

use super::Seen;
use crate::{
    causes::{Located, Root, causes, located, roots},
    finding::{consequences, finding, tone},
    text::{Palette, Row, Span, Tone, line, table},
};

/// All that was found. What is not found in `foreseen` any more, or only milder, the plan mends.
pub fn seen(now: &Diagnosis, foreseen: Option<&Diagnosis>) -> Vec<Seen> {
    let after = foreseen.map(located);
    let stays = |node: Option<&str>, found: &Finding| match &after {
        None => true,
        Some(after) => after.iter().any(|(other, left)| {
            *other == node
                && left.id == found.id
                && left.subject == found.subject
                && left.severity <= found.severity
        }),
    };
    let findings = located(now).into_iter();
    findings
        .map(|(node, finding)| Seen {
            node: node.map(str::to_owned),
            will_be_fixed: !stays(node, finding),
            finding: finding.clone(),
        })
        .collect()
}

/// What stops it at length, the rest in a line each; nothing of what is only worth knowing, nor of what another finding
/// explains: `doctor` is the command that shows those.
pub fn findings(seen: &[Seen], doctor: &str, palette: Palette) -> String {
    let mut out = String::new();
    for root in stopping(seen) {
        let place = match root.hosts.as_slice() {
            [] => "between nodes".to_owned(),
            hosts => hosts.join(", "),
        };
        line(palette, &[Span::new(Tone::Strong, place)], &mut out);
        finding(root.finding, palette, &mut out);
        consequences(&root, doctor, palette, &mut out);
    }
    let rows: Vec<Row> = unexplained(seen)
        .into_iter()
        .filter(|found| !found.stops() && found.finding.severity != Severity::Info)
        .map(row)
        .collect();
    table(palette, &rows, &mut out);
    out
}

/// Those to mend by hand: what follows from another that stops is left to it.
pub fn stopping(seen: &[Seen]) -> Vec<Root<'_>> {
    let stopping = seen.iter().filter(|found| found.stops());
    let found: Vec<Located> = stopping.map(Seen::located).collect();
    roots(&found)
}

/// Those that no other of them explains.
pub(super) fn unexplained(seen: &[Seen]) -> Vec<&Seen> {
    let found: Vec<Located> = seen.iter().map(Seen::located).collect();
    let causes = causes(&found);
    let roots = seen.iter().zip(causes);
    roots
        .filter_map(|(seen, cause)| cause.is_none().then_some(seen))
        .collect()
}

fn place(seen: &Seen) -> &str {
    seen.node.as_deref().unwrap_or("between nodes")
}

fn row(seen: &Seen) -> Row {
    let severity = seen.finding.severity;
    let (fate, what) = if seen.will_be_fixed {
        (Tone::Good, "will be fixed")
    } else {
        (Tone::Quiet, "stays")
    };
    Row::Cells(
        2,
        vec![
            Span::new(tone(severity), severity.to_string()),
            Span::new(Tone::Plain, place(seen)),
            Span::new(Tone::Strong, &seen.finding.id),
            Span::new(fate, what),
            // The longest comes last: what does not fit goes on below it, row by row.
            Span::new(Tone::Plain, &seen.finding.subject),
        ],
    )
}
