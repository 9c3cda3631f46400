//! What is about to be rolled back and where, for people and for programs.

use crosstie_model::change::{TransactionKind, TransactionState, TransactionStatus};
use schemars::JsonSchema;
use serde::Serialize;

use crate::text::{Palette, TableRow, TextSpan, TextTone, table};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RollbackPlan {
    /// The run that is rolled back; of a change from before there were runs, its transaction. Absent where nothing is in force.
    pub run: Option<String>,
    pub nodes: Vec<NodeRollbackPlan>,
}

/// Of one node: transactions that are rolled back, a reason why none is, or an error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NodeRollbackPlan {
    #[serde(rename = "host")]
    pub node: String,
    /// Newest first, which is the order in which they are rolled back.
    pub transactions: Vec<TransactionStatus>,
    pub left_alone: Option<RollbackSkipReason>,
    /// Why it could not be asked.
    pub error: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RollbackSkipReason {
    /// The run did not change this node, or that is no longer listed.
    NotPartOfIt,
    AlreadyRolledBack,
    /// No run is in force on any node.
    NothingToUndo,
}

impl RollbackSkipReason {
    pub fn words(self) -> &'static str {
        match self {
            Self::NotPartOfIt => "not part of it",
            Self::AlreadyRolledBack => "already rolled back",
            Self::NothingToUndo => "nothing to roll back",
        }
    }
}

impl NodeRollbackPlan {
    pub fn undone(node: &str, transactions: Vec<TransactionStatus>) -> Self {
        Self {
            node: node.to_owned(),
            transactions,
            left_alone: None,
            error: None,
        }
    }

    pub fn left_alone(node: &str, why: RollbackSkipReason) -> Self {
        Self {
            left_alone: Some(why),
            ..Self::undone(node, Vec::new())
        }
    }

    pub fn failed(node: &str, error: &str) -> Self {
        Self {
            error: Some(error.to_owned()),
            ..Self::undone(node, Vec::new())
        }
    }
}

impl RollbackPlan {
    /// Whether any node has something to roll back.
    pub fn has_work(&self) -> bool {
        self.nodes.iter().any(|node| !node.transactions.is_empty())
    }
}

pub fn view(plan: &RollbackPlan, palette: Palette) -> String {
    let heading = match &plan.run {
        Some(run) => format!("rollback of run {run}"),
        None if plan.nodes.iter().all(|node| node.error.is_some()) => {
            "rollback: no node could be asked".to_owned()
        }
        None if plan.nodes.iter().any(|node| node.error.is_some()) => {
            "rollback: not every node could be asked; no change is in force on the others"
                .to_owned()
        }
        None => "rollback: no change is in force".to_owned(),
    };
    let mut rows = vec![TableRow::Heading(vec![TextSpan::new(
        TextTone::Strong,
        heading,
    )])];
    let names = plan.nodes.iter().map(|node| node.node.chars().count());
    let width = names.max().unwrap_or(0);
    for node in &plan.nodes {
        let name = || TextSpan::new(TextTone::Strong, format!("{:<width$}", node.node));
        let listed = node.transactions.iter();
        rows.extend(listed.map(|one| TableRow::Cells(2, transaction(name(), one))));
        let told = match (&node.error, node.left_alone) {
            (Some(error), _) => Some((TextTone::Alarm, format!("could not be asked: {error}"))),
            (None, Some(why)) => Some((TextTone::Quiet, format!("left alone: {}", why.words()))),
            (None, None) => None,
        };
        if let Some((tone, words)) = told {
            // Across the columns, which a long reason would pull apart.
            let gap = || TextSpan::new(TextTone::Plain, "  ");
            let spans = vec![gap(), name(), gap(), TextSpan::new(tone, words)];
            rows.push(TableRow::Heading(spans));
        }
    }
    let mut out = String::new();
    table(palette, &rows, &mut out);
    out
}

fn transaction(node: TextSpan, one: &TransactionStatus) -> Vec<TextSpan> {
    let kind = match one.kind {
        TransactionKind::Apply => "apply",
        TransactionKind::Try => "try",
    };
    let (tone, state) = match one.state {
        TransactionState::RollingBack => (TextTone::Bad, "rolling back"),
        state if state.is_open() => (TextTone::Bad, "not confirmed yet"),
        _ => (TextTone::Plain, "confirmed"),
    };
    vec![
        node,
        TextSpan::new(TextTone::Plain, &one.id),
        TextSpan::new(TextTone::Plain, format!("{kind} {}", one.what)),
        TextSpan::new(tone, format!("{state}, since {}", one.began)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_person_sees_before_the_question() {
        let one = |id: &str, kind, what: &str, state| TransactionStatus {
            id: id.to_owned(),
            run: Some("20261116T175500Z-1f2e3d4c".to_owned()),
            kind,
            what: what.to_owned(),
            state,
            began: "2026-11-16T17:55:01Z".to_owned(),
            seconds_left: None,
            why: None,
        };
        let nodes = vec![
            NodeRollbackPlan::undone(
                "spark-a",
                vec![
                    one(
                        "0003",
                        TransactionKind::Try,
                        "ip link\u{1b}[2J",
                        TransactionState::Applied,
                    ),
                    one(
                        "0002",
                        TransactionKind::Apply,
                        "sparks",
                        TransactionState::Confirmed,
                    ),
                ],
            ),
            NodeRollbackPlan::left_alone("spark-b", RollbackSkipReason::NotPartOfIt),
            NodeRollbackPlan::left_alone("spark-c", RollbackSkipReason::AlreadyRolledBack),
            NodeRollbackPlan::failed("spark-d", "no route to host"),
        ];
        let mut plan = RollbackPlan {
            run: Some("20261116T175500Z-1f2e3d4c".to_owned()),
            nodes,
        };
        assert!(plan.has_work());
        insta::assert_snapshot!(view(&plan, Palette::Plain));
        plan.run = None;
        plan.nodes = vec![NodeRollbackPlan::left_alone(
            "spark-a",
            RollbackSkipReason::NothingToUndo,
        )];
        assert!(!plan.has_work());
        insta::assert_snapshot!(view(&plan, Palette::Plain));
        plan.nodes
            .push(NodeRollbackPlan::failed("spark-d", "no route to host"));
        let text = view(&plan, Palette::Plain);
        let heading = text.lines().next().unwrap();
        assert!(
            heading.starts_with("rollback: not every node could be asked;"),
            "{text}"
        );
        plan.nodes.remove(0);
        let text = view(&plan, Palette::Plain);
        assert!(
            text.starts_with("rollback: no node could be asked\n"),
            "{text}"
        );
    }
}
