//! What nodes' own journals say of them, for people and for programs.

use crosstie_model::change::{
    Drift, NodeChangeStatus, TransactionKind, TransactionState, TransactionStatus,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    suggested_command::{CommandContext, CommandVerb},
    text::{Palette, TableRow, TextSpan, TextTone, line, table},
};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StatusReport {
    pub nodes: Vec<StatusNode>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StatusNode {
    #[serde(rename = "host")]
    pub node: String,
    /// Why it could not be asked.
    pub error: Option<String>,
    /// Absent where it could not be asked.
    pub state: Option<ConfigurationState>,
    /// Oldest first.
    pub transactions: Vec<TransactionStatus>,
    pub drift: Vec<Drift>,
}

/// All transactions of a node in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ConfigurationState {
    /// Nothing of this tool's is in force.
    Unconfigured,
    Confirmed,
    /// Neither confirmed nor rolled back yet.
    Pending,
    /// Nothing is in force: the last change was rolled back.
    RolledBack,
}

impl ConfigurationState {
    fn of(transactions: &[TransactionStatus]) -> Self {
        let any =
            |wanted: fn(TransactionState) -> bool| transactions.iter().any(|one| wanted(one.state));
        if any(TransactionState::is_open) {
            Self::Pending
        } else if any(|state| state == TransactionState::Confirmed) {
            Self::Confirmed
        } else if transactions.is_empty() {
            Self::Unconfigured
        } else {
            Self::RolledBack
        }
    }
}

impl StatusNode {
    pub fn new(node: &str, answer: Result<NodeChangeStatus, String>) -> Self {
        let (status, error) = match answer {
            Ok(status) => (Some(status), None),
            Err(error) => (None, Some(error)),
        };
        let state = status
            .as_ref()
            .map(|status| ConfigurationState::of(&status.transactions));
        let NodeChangeStatus {
            transactions,
            drift,
        } = status.unwrap_or_default();
        Self {
            node: node.to_owned(),
            error,
            state,
            transactions,
            drift,
        }
    }

    /// Something is open, or not as it was left.
    pub fn needs_attention(&self) -> bool {
        self.state == Some(ConfigurationState::Pending) || !self.drift.is_empty()
    }
}

pub fn schema() -> schemars::Schema {
    crate::document::document_schema::<StatusReport>()
}

/// What is not as it was left is told with the command that shows what mends it.
pub fn view(status: &StatusReport, offer: &CommandContext, palette: Palette) -> String {
    let mut rows = Vec::new();
    for node in &status.nodes {
        let (tone, words) = match (node.state, &node.error) {
            (_, Some(error)) => (TextTone::Alarm, format!("could not be asked: {error}")),
            (Some(ConfigurationState::Pending), _) => (TextTone::Bad, "pending".to_owned()),
            (Some(ConfigurationState::Confirmed), _) => (TextTone::Good, "confirmed".to_owned()),
            (Some(ConfigurationState::RolledBack), _) => (TextTone::Bad, "rolled back".to_owned()),
            (Some(ConfigurationState::Unconfigured) | None, _) => {
                (TextTone::Quiet, "unconfigured".to_owned())
            }
        };
        rows.push(TableRow::Heading(vec![
            TextSpan::new(TextTone::Strong, &node.node),
            TextSpan::new(TextTone::Plain, "  "),
            TextSpan::new(tone, words),
        ]));
        rows.extend(node.transactions.iter().map(transaction));
        rows.extend(node.drift.iter().map(drift));
    }
    let mut out = String::new();
    table(palette, &rows, &mut out);
    if status.nodes.iter().any(|node| !node.drift.is_empty()) {
        let commands = [CommandVerb::Plan, CommandVerb::Apply].map(|verb| offer.command(verb));
        out.push('\n');
        for (label, command) in ["Next: ", "      "].into_iter().zip(commands) {
            let spans = [
                TextSpan::new(TextTone::Quiet, label),
                TextSpan::command(TextTone::Accent, command.to_string()),
            ];
            line(palette, &spans, &mut out);
        }
    }
    out
}

fn transaction(one: &TransactionStatus) -> TableRow {
    let kind = match one.kind {
        TransactionKind::Apply => "apply",
        TransactionKind::Try => "try",
    };
    let (tone, state) = match one.state {
        TransactionState::Confirmed => (TextTone::Plain, format!("confirmed, since {}", one.began)),
        TransactionState::RolledBack => {
            let why = one.why.as_deref().unwrap_or("it was asked for");
            (TextTone::Bad, format!("rolled back: {why}"))
        }
        TransactionState::RollingBack => (TextTone::Bad, "rolling back".to_owned()),
        TransactionState::Prepared | TransactionState::Armed | TransactionState::Applied => {
            let left = one.seconds_left.unwrap_or(0);
            let text = format!("not confirmed yet: rolls back by itself in {left} s");
            (TextTone::Bad, text)
        }
    };
    // As `rollback --run` takes it.
    let run = one.run.as_ref().unwrap_or(&one.id);
    let cells = vec![
        TextSpan::new(TextTone::Quiet, kind),
        TextSpan::new(TextTone::Plain, &one.what),
        TextSpan::new(TextTone::Quiet, run),
        TextSpan::new(tone, state),
    ];
    TableRow::Cells(2, cells)
}

fn drift(drift: &Drift) -> TableRow {
    let text = format!(
        "  {}: wanted {}, found {}",
        drift.what, drift.wanted, drift.found
    );
    TableRow::Heading(vec![TextSpan::new(TextTone::Alarm, text)])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(kind: TransactionKind, what: &str, state: TransactionState) -> TransactionStatus {
        TransactionStatus {
            id: "0001-20261115T100000Z".to_owned(),
            run: (kind == TransactionKind::Apply).then(|| "20261115T095958Z-1f2e3d4c".to_owned()),
            kind,
            what: what.to_owned(),
            state,
            began: "2026-11-15T10:00:00Z".to_owned(),
            seconds_left: state.is_open().then_some(42),
            why: None,
        }
    }

    #[test]
    fn what_a_person_sees_of_every_state() {
        let applied = || {
            one(
                TransactionKind::Apply,
                "sparks",
                TransactionState::Confirmed,
            )
        };
        let mut back = one(
            TransactionKind::Try,
            "ip link set eth0 down",
            TransactionState::RolledBack,
        );
        back.why = Some("nobody confirmed it in time".to_owned());
        let drift = Drift {
            what: "net.ipv4.conf.enp1s0f0np0.arp_ignore".to_owned(),
            wanted: "1".to_owned(),
            found: "0\u{1b}[2J".to_owned(),
        };
        let says = |transactions, drift| {
            Ok(NodeChangeStatus {
                transactions,
                drift,
            })
        };
        let nodes = vec![
            StatusNode::new("spark-a", says(vec![applied(), back.clone()], vec![drift])),
            StatusNode::new("spark-b", says(vec![back], vec![])),
            StatusNode::new(
                "spark-c",
                says(
                    vec![
                        applied(),
                        one(TransactionKind::Try, "ip link", TransactionState::Armed),
                    ],
                    vec![],
                ),
            ),
            StatusNode::new("spark-d", says(vec![], vec![])),
            StatusNode::new("spark-e", Err("no route to host".to_owned())),
        ];
        let states: Vec<_> = nodes.iter().map(|node| node.state).collect();
        assert_eq!(
            states,
            [
                Some(ConfigurationState::Confirmed),
                Some(ConfigurationState::RolledBack),
                Some(ConfigurationState::Pending),
                Some(ConfigurationState::Unconfigured),
                None
            ]
        );
        let looks: Vec<_> = nodes.iter().map(StatusNode::needs_attention).collect();
        assert_eq!(looks, [true, false, true, false, false]);
        let offer = CommandContext {
            lab: Some("x".to_owned()),
            ..CommandContext::default()
        };
        insta::assert_snapshot!(view(&StatusReport { nodes }, &offer, Palette::Plain));
    }
}
