//! What the doctor says before a change: what stops it, what it mends, and what it leaves.

use crosstie_doctor::Diagnosis;
use crosstie_model::{Finding, Severity};

use super::Seen;
use crate::{
    finding::{finding, tone},
    text::{Palette, Row, Span, Tone, line, table},
};

/// All that was found. What is not found in `foreseen` any more, or only milder, the plan mends.
pub fn seen(now: &Diagnosis, foreseen: Option<&Diagnosis>) -> Vec<Seen> {
    let after = foreseen.map(listed);
    let stays = |node: Option<&str>, found: &Finding| match &after {
        None => true,
        Some(after) => after.iter().any(|(other, left)| {
            *other == node
                && left.id == found.id
                && left.subject == found.subject
                && left.severity <= found.severity
        }),
    };
    let findings = listed(now).into_iter();
    findings
        .map(|(node, finding)| Seen {
            node: node.map(str::to_owned),
            will_be_fixed: !stays(node, finding),
            finding: finding.clone(),
        })
        .collect()
}

fn listed(diagnosis: &Diagnosis) -> Vec<(Option<&str>, &Finding)> {
    let nodes = diagnosis.nodes.iter();
    let nodes = nodes.flat_map(|node| {
        let findings = node.findings.iter();
        findings.map(|found| (Some(node.host.as_str()), found))
    });
    let cluster = diagnosis.cluster.iter().map(|found| (None, found));
    nodes.chain(cluster).collect()
}

/// What stops it at length, the rest in a line each; nothing of what is only worth knowing.
pub fn findings(seen: &[Seen], palette: Palette) -> String {
    let mut out = String::new();
    for found in seen.iter().filter(|found| found.stops()) {
        line(palette, &[Span::new(Tone::Strong, place(found))], &mut out);
        finding(&found.finding, palette, &mut out);
    }
    let others = seen.iter().filter(|found| !found.stops());
    let others = others.filter(|found| found.finding.severity != Severity::Info);
    let rows: Vec<Row> = others.map(row).collect();
    table(palette, &rows, &mut out);
    out
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
            Span::new(Tone::Plain, &seen.finding.subject),
            Span::new(fate, what),
        ],
    )
}
