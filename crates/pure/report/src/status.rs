//! What nodes' own journals say of them, for people and for programs.

use crosstie_model::change::{Drift, Kind, NodeStatus, State, TransactionStatus};
use schemars::JsonSchema;
use serde::Serialize;

use crate::text::{Palette, Row, Span, Tone, table};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Status {
    pub nodes: Vec<Node>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Node {
    #[serde(rename = "host")]
    pub node: String,
    /// Why it could not be asked.
    pub error: Option<String>,
    /// Absent where it could not be asked.
    pub state: Option<Summary>,
    /// Oldest first.
    pub transactions: Vec<TransactionStatus>,
    pub drift: Vec<Drift>,
}

/// All transactions of a node in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Summary {
    /// Nothing of this tool's is in force.
    Unconfigured,
    Confirmed,
    /// Neither confirmed nor undone yet.
    Pending,
    /// Nothing is in force: the last change was undone.
    RolledBack,
}

impl Summary {
    fn of(transactions: &[TransactionStatus]) -> Self {
        let any = |wanted: fn(State) -> bool| transactions.iter().any(|one| wanted(one.state));
        if any(State::is_open) {
            Self::Pending
        } else if any(|state| state == State::Confirmed) {
            Self::Confirmed
        } else if transactions.is_empty() {
            Self::Unconfigured
        } else {
            Self::RolledBack
        }
    }
}

impl Node {
    pub fn new(node: &str, answer: Result<NodeStatus, String>) -> Self {
        let (status, error) = match answer {
            Ok(status) => (Some(status), None),
            Err(error) => (None, Some(error)),
        };
        let state = status
            .as_ref()
            .map(|status| Summary::of(&status.transactions));
        let NodeStatus {
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
    pub fn wants_a_look(&self) -> bool {
        self.state == Some(Summary::Pending) || !self.drift.is_empty()
    }
}

pub fn schema() -> schemars::Schema {
    crate::document::document_schema::<Status>()
}

pub fn view(status: &Status, palette: Palette) -> String {
    let mut rows = Vec::new();
    for node in &status.nodes {
        let (tone, words) = match (node.state, &node.error) {
            (_, Some(error)) => (Tone::Alarm, format!("could not be asked: {error}")),
            (Some(Summary::Pending), _) => (Tone::Bad, "pending".to_owned()),
            (Some(Summary::Confirmed), _) => (Tone::Good, "confirmed".to_owned()),
            (Some(Summary::RolledBack), _) => (Tone::Bad, "rolled back".to_owned()),
            (Some(Summary::Unconfigured) | None, _) => (Tone::Quiet, "unconfigured".to_owned()),
        };
        rows.push(Row::Heading(vec![
            Span::new(Tone::Strong, &node.node),
            Span::new(Tone::Plain, "  "),
            Span::new(tone, words),
        ]));
        rows.extend(node.transactions.iter().map(transaction));
        rows.extend(node.drift.iter().map(drift));
    }
    let mut out = String::new();
    table(palette, &rows, &mut out);
    out
}

fn transaction(one: &TransactionStatus) -> Row {
    let kind = match one.kind {
        Kind::Apply => "apply",
        Kind::Try => "try",
    };
    let (tone, state) = match one.state {
        State::Confirmed => (Tone::Plain, format!("confirmed, since {}", one.began)),
        State::RolledBack => {
            let why = one.why.as_deref().unwrap_or("it was asked for");
            (Tone::Bad, format!("rolled back: {why}"))
        }
        State::RollingBack => (Tone::Bad, "on the way back".to_owned()),
        State::Prepared | State::Armed | State::Applied => {
            let left = one.seconds_left.unwrap_or(0);
            let text = format!("not confirmed yet: goes back by itself in {left} s");
            (Tone::Bad, text)
        }
    };
    // As `rollback --run` takes it.
    let run = one.run.as_ref().unwrap_or(&one.id);
    let cells = vec![
        Span::new(Tone::Quiet, kind),
        Span::new(Tone::Plain, &one.what),
        Span::new(Tone::Quiet, run),
        Span::new(tone, state),
    ];
    Row::Cells(2, cells)
}

fn drift(drift: &Drift) -> Row {
    let text = format!(
        "  {}: wanted {}, found {}",
        drift.what, drift.wanted, drift.found
    );
    Row::Heading(vec![Span::new(Tone::Alarm, text)])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(kind: Kind, what: &str, state: State) -> TransactionStatus {
        TransactionStatus {
            id: "0001-20261115T100000Z".to_owned(),
            run: (kind == Kind::Apply).then(|| "20261115T095958Z-1f2e3d4c".to_owned()),
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
        let applied = || one(Kind::Apply, "sparks", State::Confirmed);
        let mut back = one(Kind::Try, "ip link set eth0 down", State::RolledBack);
        back.why = Some("nobody confirmed it in time".to_owned());
        let drift = Drift {
            what: "net.ipv4.conf.enp1s0f0np0.arp_ignore".to_owned(),
            wanted: "1".to_owned(),
            found: "0\u{1b}[2J".to_owned(),
        };
        let says = |transactions, drift| {
            Ok(NodeStatus {
                transactions,
                drift,
            })
        };
        let nodes = vec![
            Node::new("spark-a", says(vec![applied(), back.clone()], vec![drift])),
            Node::new("spark-b", says(vec![back], vec![])),
            Node::new(
                "spark-c",
                says(
                    vec![applied(), one(Kind::Try, "ip link", State::Armed)],
                    vec![],
                ),
            ),
            Node::new("spark-d", says(vec![], vec![])),
            Node::new("spark-e", Err("no route to host".to_owned())),
        ];
        let states: Vec<_> = nodes.iter().map(|node| node.state).collect();
        assert_eq!(
            states,
            [
                Some(Summary::Confirmed),
                Some(Summary::RolledBack),
                Some(Summary::Pending),
                Some(Summary::Unconfigured),
                None
            ]
        );
        let looks: Vec<_> = nodes.iter().map(Node::wants_a_look).collect();
        assert_eq!(looks, [true, false, true, false, false]);
        insta::assert_snapshot!(view(&Status { nodes }, Palette::Plain));
    }
}
