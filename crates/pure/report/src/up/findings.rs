//! What the doctor says before a change: what stops it, what it mends, and what it leaves.

use crosstie_doctor::Diagnosis;
use crosstie_model::{Finding, Severity};

use super::UpFinding;
use crate::{
    causes::{HostFindingRef, RootFinding, causes, located, roots},
    finding::{consequences, finding, tone},
    text::{Palette, TableRow, TextSpan, TextTone, line, table},
};

/// All that was found. What is not found in `foreseen` any more, or only milder, the plan mends.
pub fn mark_fixed(now: &Diagnosis, foreseen: Option<&Diagnosis>) -> Vec<UpFinding> {
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
        .map(|(node, finding)| UpFinding {
            node: node.map(str::to_owned),
            will_be_fixed: !stays(node, finding),
            finding: finding.clone(),
        })
        .collect()
}

/// What stops it at length, the rest in a line each; nothing of what is only worth knowing, nor of what another finding
/// explains: `doctor` is the command that shows those.
pub fn findings(seen: &[UpFinding], doctor: &str, palette: Palette) -> String {
    let mut out = String::new();
    for root in stopping(seen) {
        let place = match root.hosts.as_slice() {
            [] => "between nodes".to_owned(),
            hosts => hosts.join(", "),
        };
        line(palette, &[TextSpan::new(TextTone::Strong, place)], &mut out);
        finding(root.finding, palette, &mut out);
        consequences(&root, doctor, palette, &mut out);
    }
    let rows: Vec<TableRow> = unexplained(seen)
        .into_iter()
        .filter(|found| !found.blocks_apply() && found.finding.severity != Severity::Info)
        .map(row)
        .collect();
    table(palette, &rows, &mut out);
    out
}

/// Those to mend by hand: what follows from another that stops is left to it.
pub fn stopping(seen: &[UpFinding]) -> Vec<RootFinding<'_>> {
    let stopping = seen.iter().filter(|found| found.blocks_apply());
    let found: Vec<HostFindingRef> = stopping.map(UpFinding::located).collect();
    roots(&found)
}

/// Those that no other of them explains.
pub(super) fn unexplained(seen: &[UpFinding]) -> Vec<&UpFinding> {
    let found: Vec<HostFindingRef> = seen.iter().map(UpFinding::located).collect();
    let causes = causes(&found);
    let roots = seen.iter().zip(causes);
    roots
        .filter_map(|(seen, cause)| cause.is_none().then_some(seen))
        .collect()
}

fn place(seen: &UpFinding) -> &str {
    seen.node.as_deref().unwrap_or("between nodes")
}

fn row(seen: &UpFinding) -> TableRow {
    let severity = seen.finding.severity;
    let (fate, what) = if seen.will_be_fixed {
        (TextTone::Good, "will be fixed")
    } else {
        (TextTone::Quiet, "stays")
    };
    TableRow::Cells(
        2,
        vec![
            TextSpan::new(tone(severity), severity.to_string()),
            TextSpan::new(TextTone::Plain, place(seen)),
            TextSpan::new(TextTone::Strong, &seen.finding.id),
            TextSpan::new(fate, what),
            // The longest comes last: what does not fit goes on below it, row by row.
            TextSpan::new(TextTone::Plain, &seen.finding.subject),
        ],
    )
}
