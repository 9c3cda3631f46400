//! The diagnosis on a terminal.

use crosstie_doctor::{Diagnosis, NodeFindings};
use crosstie_model::{Finding, Severity};

use super::Count;
use crate::{
    finding::{finding, heading},
    text::{Palette, Span, Tone, line},
};

/// Node by node, faults first, and a last line that sums up.
pub fn view(diagnosis: &Diagnosis, palette: Palette) -> String {
    let mut out = String::new();
    for node in &diagnosis.nodes {
        of_node(node, palette, &mut out);
    }
    if !diagnosis.cluster.is_empty() {
        group("between nodes", &diagnosis.cluster, palette, &mut out);
    }
    let spans = [verdict(diagnosis)];
    line(palette, &spans, &mut out);
    if let Some(worst) = diagnosis.findings().min_by_key(|finding| finding.severity) {
        let hint = format!("crosstie explain {}    tells more", worst.id);
        line(palette, &[Span::new(Tone::Quiet, hint)], &mut out);
    }
    out
}

/// The whole in one line.
pub fn verdict(diagnosis: &Diagnosis) -> Span {
    let count = Count::all(diagnosis);
    let unread = diagnosis.nodes.iter().filter(|node| node.error.is_some());
    let unread = unread.count();
    let nodes = match diagnosis.nodes.len() {
        1 => "1 node".to_owned(),
        nodes => format!("{nodes} nodes"),
    };
    let found = match count.words() {
        words if words.is_empty() => "nothing wrong".to_owned(),
        words => words,
    };
    let missing = match unread {
        0 => String::new(),
        unread => format!("; {unread} could not be examined"),
    };
    let tone = match (count.faults, count.warnings + unread) {
        (0, 0) => Tone::Good,
        (0, _) => Tone::Bad,
        _ => Tone::Alarm,
    };
    Span::new(tone, format!("{nodes}: {found}{missing}"))
}

fn of_node(node: &NodeFindings, palette: Palette, out: &mut String) {
    if let Some(error) = &node.error {
        let spans = [
            Span::new(Tone::Strong, &node.host),
            Span::new(Tone::Bad, "  could not be examined: "),
            Span::new(Tone::Plain, error),
        ];
        line(palette, &spans, out);
        out.push('\n');
        return;
    }
    group(&node.host, &node.findings, palette, out);
    for note in &node.notes {
        line(palette, &[Span::new(Tone::Quiet, format!("  {note}"))], out);
    }
    if !node.notes.is_empty() {
        out.push('\n');
    }
}

fn group(title: &str, findings: &[Finding], palette: Palette, out: &mut String) {
    let count = Count::of(findings.iter().map(|finding| &finding.severity));
    let words = count.words();
    let (tone, words) = if words.is_empty() {
        (Tone::Good, "nothing wrong".to_owned())
    } else {
        (Tone::Plain, words)
    };
    let spans = [
        Span::new(Tone::Strong, title),
        Span::new(Tone::Plain, "  "),
        Span::new(tone, words),
    ];
    line(palette, &spans, out);
    out.push('\n');
    for found in findings {
        if found.severity == Severity::Info {
            heading(found, palette, out);
        } else {
            finding(found, palette, out);
        }
    }
    if count.infos > 0 {
        out.push('\n');
    }
}
