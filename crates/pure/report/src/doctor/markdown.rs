//! The diagnosis for a bug report.

use std::fmt::Write;

use crosstie_doctor::{Diagnosis, NodeFindings};
use crosstie_model::Finding;

use super::view::verdict;
use crate::{
    causes::{RootFinding, located, roots},
    text::printable,
};

/// Markdown with everything from a node in code spans, where nothing of it can be taken for markup.
pub fn markdown(diagnosis: &Diagnosis, version: &str) -> String {
    let roots = roots(&located(diagnosis));
    // Writing to a String cannot fail, here and below.
    let mut out = format!(
        "# Crosstie doctor\n\n{}. Made by Crosstie {version}.\n",
        verdict(diagnosis).text()
    );
    for root in &roots {
        section(&mut out, root);
    }
    let nodes = diagnosis.nodes.iter();
    for (host, error) in nodes.filter_map(|node| Some((&node.host, node.error.as_ref()?))) {
        let _ = writeln!(
            out,
            "\n{} could not be examined: {}",
            code(host),
            code(error)
        );
    }
    let clean = |node: &&NodeFindings| node.error.is_none() && node.findings.is_empty();
    let clean: Vec<String> = diagnosis
        .nodes
        .iter()
        .filter(clean)
        .map(|node| code(&node.host))
        .collect();
    if !clean.is_empty() {
        let _ = writeln!(out, "\nNothing wrong: {}", clean.join(", "));
    }
    for node in &diagnosis.nodes {
        for note in &node.notes {
            let _ = writeln!(out, "\n{}: {}.", code(&node.host), plain(note));
        }
    }
    out
}

/// A finding to mend, and what follows from it.
fn section(out: &mut String, root: &RootFinding) {
    let hosts: Vec<String> = root.hosts.iter().map(|host| code(host)).collect();
    let place = match hosts.as_slice() {
        [] => "Between nodes".to_owned(),
        hosts => hosts.join(", "),
    };
    let _ = write!(out, "\n## {place}\n\n");
    finding(out, root.finding);
    if let Some(words) = root.consequences() {
        let _ = writeln!(out, "It {words}:\n");
    }
    for (host, found) in &root.explains {
        let place = host.map_or_else(|| "between nodes".to_owned(), code);
        let _ = writeln!(
            out,
            "- {place}: {} {} {}",
            found.severity,
            found.id,
            code(&found.subject)
        );
    }
}

fn finding(out: &mut String, finding: &Finding) {
    let _ = writeln!(
        out,
        "### {}: {} {}\n",
        finding.severity,
        finding.id,
        code(&finding.subject)
    );
    if !finding.evidence.is_empty() {
        out.push_str("| read | value | source |\n|---|---|---|\n");
    }
    for evidence in &finding.evidence {
        let cells = [&evidence.what, &evidence.value, &evidence.source].map(|cell| code(cell));
        let _ = writeln!(out, "| {} |", cells.join(" | "));
    }
    let _ = write!(out, "\n- cause: {}\n", plain(&finding.cause));
    let advice = finding.fix.lines().count() - finding.commands.len();
    let advice: Vec<&str> = finding.fix.lines().take(advice).collect();
    let _ = writeln!(out, "- fix: {}\n", plain(&advice.join(" ")));
    if !finding.commands.is_empty() {
        let commands: Vec<String> = finding
            .commands
            .iter()
            .map(|line| printable(line))
            .collect();
        let commands = commands.join("\n");
        let fence = "`".repeat(longest_ticks(&commands).max(2) + 1);
        let _ = write!(out, "{fence}sh\n{commands}\n{fence}\n\n");
    }
}

/// A code span, also inside a table.
fn code(text: &str) -> String {
    let text = printable(text).replace('|', "\u{2502}");
    if text.trim().is_empty() {
        return String::new();
    }
    let ticks = "`".repeat(longest_ticks(&text) + 1);
    let pad = if text.starts_with('`') || text.ends_with('`') {
        " "
    } else {
        ""
    };
    format!("{ticks}{pad}{text}{pad}{ticks}")
}

fn longest_ticks(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

/// Our own sentences, which may quote a node.
fn plain(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in printable(text).chars() {
        if matches!(
            c,
            '<' | '>' | '[' | ']' | '*' | '_' | '#' | '|' | '\\' | '!'
        ) {
            safe.push('\\');
        }
        safe.push(c);
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_cannot_write_markup() {
        assert_eq!(code("a`b"), "``a`b``");
        assert_eq!(code("x | y"), "`x \u{2502} y`");
        assert_eq!(plain("<img src=x>"), "\\<img src=x\\>");
        assert_eq!(code("`"), "`` ` ``");
    }
}
