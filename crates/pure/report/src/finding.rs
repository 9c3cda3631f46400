//! A finding on a terminal.

use crosstie_model::{Evidence, Finding, Severity};

use crate::{
    causes::RootFinding,
    text::{Palette, TableRow, TextSpan, TextTone, line, table, wrap},
};

const INDENT: usize = 11;

pub fn tone(severity: Severity) -> TextTone {
    match severity {
        Severity::Fault => TextTone::Alarm,
        Severity::Warning => TextTone::Bad,
        Severity::Info => TextTone::Quiet,
    }
}

/// What, where, evidence, cause and fix, and the finding behind it; a last empty line.
pub fn finding(finding: &Finding, palette: Palette, out: &mut String) {
    heading(finding, palette, out);
    evidence(&finding.evidence, palette, out);
    paragraph("cause", &finding.cause, palette, out);
    // The fix ends in the commands, which a person copies: they are not folded.
    let advice = finding.fix.lines().count() - finding.commands.len();
    let advice: Vec<&str> = finding.fix.lines().take(advice).collect();
    paragraph("fix", &advice.join(" "), palette, out);
    for command in &finding.commands {
        let indent = " ".repeat(INDENT + 7);
        let spans = [
            TextSpan::new(TextTone::Plain, indent),
            TextSpan::command(TextTone::Accent, command),
        ];
        line(palette, &spans, out);
    }
    if let Some(cause) = &finding.caused_by {
        let on = cause.host.as_ref().map(|host| format!(" on {host}"));
        let text = format!("{} {}{}", cause.id, cause.subject, on.unwrap_or_default());
        paragraph("due to", &text, palette, out);
    }
    out.push('\n');
}

/// A line below a finding that explains others, in place of its last empty one; `command` shows them.
pub fn consequences(root: &RootFinding, command: &str, palette: Palette, out: &mut String) {
    if let Some(words) = root.consequences() {
        out.truncate(out.len().saturating_sub(1));
        let indent = TextSpan::new(TextTone::Plain, " ".repeat(INDENT));
        let text = TextSpan::new(TextTone::Strong, words);
        let hint = TextSpan::new(TextTone::Quiet, format!("; {command} shows them"));
        line(palette, &[indent, text, hint], out);
        out.push('\n');
    }
}

/// What was read, its value, and where, in columns. A line of a log would push its neighbours apart: it has a row of its
/// own below what it is.
fn evidence(evidence: &[Evidence], palette: Palette, out: &mut String) {
    const LONG_VALUE_CHARACTERS: usize = 64;
    let is_long = |evidence: &Evidence| evidence.value.chars().count() > LONG_VALUE_CHARACTERS;
    let mut rows: Vec<TableRow> = Vec::new();
    for seen in evidence {
        let what = TextSpan::new(TextTone::Plain, &seen.what);
        let value = TextSpan::new(TextTone::Strong, &seen.value);
        let source = TextSpan::new(TextTone::Quiet, &seen.source);
        if is_long(seen) {
            let indent = TextSpan::new(TextTone::Plain, " ".repeat(INDENT));
            let gap = TextSpan::new(TextTone::Plain, "  ");
            rows.push(TableRow::Heading(vec![
                indent.clone(),
                what,
                gap.clone(),
                source,
            ]));
            rows.push(TableRow::Heading(vec![indent, gap, value]));
        } else {
            rows.push(TableRow::Cells(INDENT, vec![what, value, source]));
        }
    }
    table(palette, &rows, out);
}

/// One line: for what is only worth knowing.
pub fn heading(finding: &Finding, palette: Palette, out: &mut String) {
    let severity = tone(finding.severity);
    let spans = [
        TextSpan::new(severity, format!("  {:<9}", finding.severity)),
        TextSpan::new(TextTone::Strong, &finding.id),
        TextSpan::new(TextTone::Plain, "  "),
        TextSpan::new(TextTone::Plain, &finding.subject),
    ];
    line(palette, &spans, out);
}

fn paragraph(label: &str, text: &str, palette: Palette, out: &mut String) {
    let mut label = format!("{:INDENT$}{label:<7}", "");
    for folded in wrap(text, palette.prose(label.chars().count())) {
        let spans = [
            TextSpan::new(TextTone::Quiet, &label),
            TextSpan::new(TextTone::Plain, folded),
        ];
        line(palette, &spans, out);
        label = " ".repeat(INDENT + 7);
    }
}
