//! What `trust` did, for people and for programs.

use crosstie_trust::{AliasRefusal, PeerAlias, PublicKey, UnwrittenAlias};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    document::document_schema,
    text::{Palette, TableRow, TextSpan, TextTone, printable, sentence, table},
};

/// A node cannot fill the screen.
const MAX_LINES: usize = 200;

#[derive(Debug, Serialize, JsonSchema)]
pub struct TrustReport {
    pub dry_run: bool,
    pub undo: bool,
    pub nodes: Vec<TrustNodeReport>,
    pub controller: ControllerReport,
    #[serde(skip)]
    pub hints: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct TrustNodeReport {
    host: String,
    /// As `ssh-keygen -l` shows it.
    host_key: Option<String>,
    host_key_type: Option<&'static str>,
    changed: Vec<String>,
    #[serde(flatten)]
    alias_report: AliasReport,
    error: Option<String>,
    #[serde(skip)]
    is_declined: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct ControllerReport {
    changed: Vec<String>,
    #[serde(flatten)]
    alias_report: AliasReport,
}

/// What became of one machine.
#[derive(Debug, Clone, Default)]
pub struct TrustOutcome {
    pub host_key: Option<PublicKey>,
    /// `PATH: what`.
    pub changed: Vec<String>,
    pub aliases: Vec<PeerAlias>,
    pub unwritten: Vec<UnwrittenAlias>,
    pub error: Option<String>,
    /// The error is that somebody was asked about its host key, and did not say yes.
    pub is_declined: bool,
}

/// Under which names and addresses a machine finds its peers, and which it does not believe.
#[derive(Debug, Serialize, JsonSchema)]
struct AliasReport {
    aliases: Vec<PeerAlias>,
    unwritten: Vec<UnwrittenAlias>,
}

impl AliasReport {
    fn new(outcome: &TrustOutcome) -> Self {
        Self {
            aliases: outcome.aliases.iter().take(MAX_LINES).cloned().collect(),
            unwritten: outcome.unwritten.iter().take(MAX_LINES).cloned().collect(),
        }
    }
}

impl TrustNodeReport {
    pub fn new(host: String, outcome: &TrustOutcome) -> Self {
        let key = outcome.host_key.as_ref();
        Self {
            host,
            host_key: key.map(|key| key.fingerprint().to_string()),
            host_key_type: key.map(|key| key.kind().label()),
            changed: changed_lines(outcome),
            alias_report: AliasReport::new(outcome),
            error: outcome.error.clone(),
            is_declined: outcome.is_declined,
        }
    }
}

impl ControllerReport {
    pub fn new(outcome: &TrustOutcome) -> Self {
        Self {
            changed: changed_lines(outcome),
            alias_report: AliasReport::new(outcome),
        }
    }
}

/// The JSON schema of `trust --json`.
pub fn schema() -> schemars::Schema {
    document_schema::<TrustReport>()
}

fn changed_lines(outcome: &TrustOutcome) -> Vec<String> {
    let lists = [
        outcome.changed.len(),
        outcome.unwritten.len(),
        outcome.aliases.len(),
    ];
    let more: usize = lists
        .map(|count| count.saturating_sub(MAX_LINES))
        .iter()
        .sum();
    let told = (more > 0).then(|| format!("and {more} more, which are not listed"));
    let listed = outcome.changed.iter().take(MAX_LINES).cloned();
    listed.chain(told).collect()
}

impl TrustReport {
    /// In a few lines, beside other things: what changed, and who is in the way.
    pub fn notes(&self) -> Vec<String> {
        let here = &self.controller;
        let machines = self.nodes.iter().map(|node| {
            let error = node.error.as_deref();
            (node.host.as_str(), &node.changed, &node.alias_report, error)
        });
        let all = machines.chain([("this machine", &here.changed, &here.alias_report, None)]);
        let mut notes = Vec::new();
        for (host, changed, aliases, error) in all {
            let changed = changed.iter().map(ToString::to_string);
            let refused = aliases
                .unwritten
                .iter()
                .filter(|claim| claim.reason != AliasRefusal::NotSeen)
                .map(|claim| format!("{} is not {}: {}", claim.alias, claim.peer, claim.reason));
            let failed = error.map(|error| format!("trust was not renewed: {error}"));
            let told = changed.chain(refused).chain(failed);
            notes.extend(told.map(|text| format!("{host}: {text}")));
        }
        notes
    }

    pub fn failed(&self) -> bool {
        let mut nodes = self.nodes.iter();
        nodes.any(|node| node.error.is_some() && !node.is_declined)
    }

    /// Nothing but a host key that somebody did not approve of stood in the way.
    pub fn is_declined(&self) -> bool {
        !self.failed() && self.nodes.iter().any(|node| node.is_declined)
    }

    pub fn view(&self, palette: Palette) -> String {
        let mut rows = Vec::new();
        for node in &self.nodes {
            let mut heading = vec![TextSpan::new(TextTone::Strong, &node.host)];
            if let (Some(kind), Some(key)) = (node.host_key_type, &node.host_key) {
                heading.push(TextSpan::new(TextTone::Quiet, format!("  {kind} {key}")));
            }
            rows.push(TableRow::Heading(heading));
            self.changes(
                &node.changed,
                &node.alias_report,
                node.error.as_deref(),
                &mut rows,
            );
        }
        rows.push(TableRow::Heading(vec![TextSpan::new(
            TextTone::Strong,
            "this machine",
        )]));
        let here = &self.controller;
        self.changes(&here.changed, &here.alias_report, None, &mut rows);
        let mut text = String::new();
        table(palette, &rows, &mut text);
        for hint in &self.hints {
            text.push('\n');
            for line in hint.lines() {
                sentence(palette, 2, &printable(line), &mut text);
            }
        }
        text
    }

    fn changes(
        &self,
        changed: &[String],
        aliases: &AliasReport,
        error: Option<&str>,
        rows: &mut Vec<TableRow>,
    ) {
        for change in changed {
            let (path, what) = change.split_once(": ").unwrap_or((change, ""));
            let verb = if self.dry_run { "would: " } else { "" };
            rows.push(TableRow::Cells(
                2,
                vec![
                    TextSpan::new(TextTone::Plain, path),
                    TextSpan::new(TextTone::Plain, format!("{verb}{what}")),
                ],
            ));
        }
        for claim in &aliases.unwritten {
            let UnwrittenAlias {
                peer,
                alias,
                reason,
            } = claim;
            rows.push(TableRow::Cells(
                2,
                vec![
                    TextSpan::new(TextTone::Quiet, "not written"),
                    TextSpan::new(TextTone::Quiet, format!("{alias} is {peer}: {reason}")),
                ],
            ));
        }
        match error {
            Some(error) => rows.push(TableRow::Heading(vec![TextSpan::new(
                TextTone::Bad,
                format!("  {error}"),
            )])),
            None if changed.is_empty() => {
                rows.push(TableRow::Heading(vec![TextSpan::new(
                    TextTone::Quiet,
                    "  nothing to change",
                )]));
            }
            None => {}
        }
    }
}
