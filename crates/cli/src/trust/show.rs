//! What was done, for people and for programs.

use crosstie_node::trust::Change;
use crosstie_report::text::{Palette, Row, Span, Tone, printable, table};
use serde::Serialize;

use super::Outcome;

/// A node cannot fill the screen.
const MOST: usize = 200;

#[derive(Debug, Serialize)]
pub(super) struct Report {
    pub(super) dry_run: bool,
    pub(super) undo: bool,
    pub(super) nodes: Vec<NodeReport>,
    pub(super) controller: ControllerReport,
    #[serde(skip)]
    pub(super) hints: Vec<String>,
}

#[derive(Debug, Serialize)]
pub(super) struct NodeReport {
    host: String,
    /// As `ssh-keygen -l` shows it.
    host_key: Option<String>,
    host_key_type: Option<&'static str>,
    changed: Vec<String>,
    error: Option<String>,
}

#[derive(Debug, Serialize)]
pub(super) struct ControllerReport {
    changed: Vec<String>,
}

impl NodeReport {
    pub(super) fn new(host: String, outcome: &Outcome) -> Self {
        let key = outcome.host_key.as_ref();
        Self {
            host,
            host_key: key.map(|key| key.fingerprint().to_string()),
            host_key_type: key.map(|key| key.kind().label()),
            changed: texts(&outcome.changed),
            error: outcome.error.clone(),
        }
    }
}

impl ControllerReport {
    pub(super) fn new(changed: &[Change]) -> Self {
        Self {
            changed: texts(changed),
        }
    }
}

fn texts(changed: &[Change]) -> Vec<String> {
    changed.iter().take(MOST).map(ToString::to_string).collect()
}

impl Report {
    pub(super) fn failed(&self) -> bool {
        self.nodes.iter().any(|node| node.error.is_some())
    }

    pub(super) fn view(&self, palette: Palette) -> String {
        let mut rows = Vec::new();
        for node in &self.nodes {
            let mut heading = vec![Span::new(Tone::Strong, &node.host)];
            if let (Some(kind), Some(key)) = (node.host_key_type, &node.host_key) {
                heading.push(Span::new(Tone::Quiet, format!("  {kind} {key}")));
            }
            rows.push(Row::Heading(heading));
            self.changes(&node.changed, node.error.as_deref(), &mut rows);
        }
        rows.push(Row::Heading(vec![Span::new(Tone::Strong, "this machine")]));
        self.changes(&self.controller.changed, None, &mut rows);
        let mut text = String::new();
        table(palette, &rows, &mut text);
        for hint in &self.hints {
            text.push('\n');
            for line in hint.lines() {
                text.push_str(&printable(line));
                text.push('\n');
            }
        }
        text
    }

    fn changes(&self, changed: &[String], error: Option<&str>, rows: &mut Vec<Row>) {
        for change in changed {
            let (path, what) = change.split_once(": ").unwrap_or((change, ""));
            let verb = if self.dry_run { "would: " } else { "" };
            rows.push(Row::Cells(
                2,
                vec![
                    Span::new(Tone::Plain, path),
                    Span::new(Tone::Plain, format!("{verb}{what}")),
                ],
            ));
        }
        match error {
            Some(error) => rows.push(Row::Heading(vec![Span::new(
                Tone::Bad,
                format!("  {error}"),
            )])),
            None if changed.is_empty() => {
                rows.push(Row::Heading(vec![Span::new(
                    Tone::Quiet,
                    "  nothing to change",
                )]));
            }
            None => {}
        }
    }
}
