//! What became of nodes that were to be changed, for people and for programs.

use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    rollback::RollbackPlan,
    text::{Palette, TableRow, TextSpan, TextTone, line, table},
};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ApplyReport {
    /// What all nodes of this command share, in their journals too. Absent where nothing was to be changed.
    pub run: Option<String>,
    pub nodes: Vec<NodeChange>,
    /// Present where the cluster is neither as planned nor as it was before.
    pub half_configured: Option<HalfConfigured>,
    /// Of `rollback`: what was to be rolled back, and where.
    pub rollback: Option<RollbackPlan>,
    /// Likewise, where some nodes made it and others did not; programs see that in `nodes`.
    #[serde(skip)]
    pub half_rolled_back: Option<HalfRolledBack>,
}

/// Some nodes are rolled back from a run and others are not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HalfRolledBack {
    rolled_back: Vec<String>,
    others: Vec<String>,
    /// The command that rolls back the others too.
    again: String,
}

/// Some nodes of a run are confirmed and others are not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HalfConfigured {
    pub confirmed: Vec<String>,
    pub others: Vec<String>,
    /// The command that changes the others too.
    pub again: String,
    /// The command that rolls this run back.
    pub undo: String,
}

/// Of one node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NodeChange {
    #[serde(rename = "host")]
    pub node: String,
    pub outcome: NodeChangeOutcome,
    pub transaction: Option<String>,
    /// Why it is not as it was asked for.
    pub why: Option<String>,
    /// From the first change to the confirmation.
    pub seconds: Option<u64>,
    /// What a person should know besides.
    pub notes: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NodeChangeOutcome {
    /// Changed, and seen to be reached over a new connection.
    Confirmed,
    /// There was nothing to do.
    Unchanged,
    /// As it was before.
    RolledBack,
    /// It does not answer, and rolls back by itself.
    #[serde(rename = "going-back")] // what programs read already
    RollingBack,
    /// Nothing was changed.
    Refused,
    /// Nothing was changed, since another node did not come through.
    NotBegun,
    /// What became of it is not known, or has to be looked after.
    Failed,
}

impl NodeChangeOutcome {
    /// As it was asked for.
    pub fn is_fine(self) -> bool {
        matches!(self, Self::Confirmed | Self::Unchanged)
    }
}

impl NodeChange {
    pub fn new(node: &str, outcome: NodeChangeOutcome) -> Self {
        Self {
            node: node.to_owned(),
            outcome,
            transaction: None,
            why: None,
            seconds: None,
            notes: Vec::new(),
        }
    }

    #[must_use]
    pub fn with_reason(mut self, why: impl Into<String>) -> Self {
        self.why = Some(why.into());
        self
    }

    pub(crate) fn words(&self) -> (TextTone, String) {
        let seconds = self.seconds.map(|seconds| format!(" in {seconds} s"));
        let (tone, words) = match self.outcome {
            NodeChangeOutcome::Confirmed => (TextTone::Good, "confirmed"),
            NodeChangeOutcome::Unchanged => (TextTone::Good, "unchanged"),
            NodeChangeOutcome::RolledBack => (TextTone::Alarm, "rolled back"),
            NodeChangeOutcome::RollingBack => (TextTone::Alarm, "rolls back by itself"),
            NodeChangeOutcome::Refused => (TextTone::Alarm, "refused"),
            NodeChangeOutcome::NotBegun => (TextTone::Bad, "not begun"),
            NodeChangeOutcome::Failed => (TextTone::Alarm, "failed"),
        };
        (tone, format!("{words}{}", seconds.unwrap_or_default()))
    }
}

impl ApplyReport {
    pub fn new(nodes: Vec<NodeChange>) -> Self {
        Self {
            run: None,
            nodes,
            half_configured: None,
            rollback: None,
            half_rolled_back: None,
        }
    }

    fn named(&self, wanted: fn(NodeChangeOutcome) -> bool) -> Vec<String> {
        let nodes = self.nodes.iter();
        let nodes = nodes.filter(|change| wanted(change.outcome));
        nodes.map(|change| change.node.clone()).collect()
    }

    /// Where a rollback was made on some nodes alone: with the command that finishes it.
    pub fn half_rolled_back(&self, again: &str) -> Option<HalfRolledBack> {
        let half = HalfRolledBack {
            rolled_back: self.named(|outcome| outcome == NodeChangeOutcome::RolledBack),
            others: self.named(|outcome| {
                matches!(
                    outcome,
                    NodeChangeOutcome::Refused
                        | NodeChangeOutcome::NotBegun
                        | NodeChangeOutcome::Failed
                )
            }),
            again: again.to_owned(),
        };
        (!half.rolled_back.is_empty() && !half.others.is_empty()).then_some(half)
    }

    /// Where this run left the cluster half configured: with the commands that change the others too, and that roll it back.
    pub fn half_configured(&self, again: &str, undo: &str) -> Option<HalfConfigured> {
        let half = HalfConfigured {
            confirmed: self.named(|outcome| outcome == NodeChangeOutcome::Confirmed),
            others: self.named(|outcome| !outcome.is_fine()),
            again: again.to_owned(),
            undo: undo.to_owned(),
        };
        (!half.confirmed.is_empty() && !half.others.is_empty()).then_some(half)
    }
}

impl HalfConfigured {
    pub(crate) fn sentence(&self) -> String {
        half("configured", (&self.confirmed, "confirmed"), &self.others)
    }

    fn view(&self, palette: Palette, out: &mut String) {
        let commands = [("finish", &*self.again), ("rollback", &*self.undo)];
        view_half(&self.sentence(), &commands, palette, out);
    }
}

impl HalfRolledBack {
    fn view(&self, palette: Palette, out: &mut String) {
        let sentence = half(
            "rolled back",
            (&self.rolled_back, "rolled back"),
            &self.others,
        );
        view_half(&sentence, &[("finish", &self.again)], palette, out);
    }
}

fn half(what: &str, (done, are): (&[String], &str), others: &[String]) -> String {
    let be = |nodes: &[String]| if nodes.len() == 1 { "is" } else { "are" };
    format!(
        "The cluster is half {what}: {} {} {are}, and {} {} not.",
        done.join(", "),
        be(done),
        others.join(", "),
        be(others),
    )
}

fn view_half(sentence: &str, commands: &[(&str, &str)], palette: Palette, out: &mut String) {
    line(palette, &[TextSpan::new(TextTone::Alarm, sentence)], out);
    for (label, command) in commands {
        let spans = [
            TextSpan::new(TextTone::Quiet, format!("  {label:<10}")),
            TextSpan::command(TextTone::Accent, command),
        ];
        line(palette, &spans, out);
    }
}

pub fn schema() -> schemars::Schema {
    crate::document::document_schema::<ApplyReport>()
}

/// Nodes and what became of them; `is_rollback` where a rollback is what was asked for.
pub fn view(changes: &ApplyReport, is_rollback: bool, palette: Palette) -> String {
    let row = |change: &NodeChange| {
        let (mut tone, mut words) = change.words();
        if is_rollback && change.outcome == NodeChangeOutcome::RolledBack {
            tone = TextTone::Good;
            // Of an `uninstall` on a node that no change was in force on.
            if change.transaction.is_none() && change.why.is_none() {
                "nothing to roll back; Crosstie's files are removed".clone_into(&mut words);
            }
        }
        let cells = vec![
            TextSpan::new(TextTone::Strong, &change.node),
            TextSpan::new(tone, words),
            TextSpan::new(TextTone::Plain, change.why.as_deref().unwrap_or_default()),
        ];
        TableRow::Cells(0, cells)
    };
    let rows: Vec<TableRow> = changes.nodes.iter().map(row).collect();
    let mut out = String::new();
    table(palette, &rows, &mut out);
    for change in &changes.nodes {
        for note in &change.notes {
            let spans = [
                TextSpan::new(TextTone::Bad, "note: "),
                TextSpan::new(TextTone::Plain, format!("{}: {note}", change.node)),
            ];
            line(palette, &spans, &mut out);
        }
    }
    if let Some(half) = &changes.half_configured {
        half.view(palette, &mut out);
    }
    if let Some(half) = &changes.half_rolled_back {
        half.view(palette, &mut out);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_person_sees_of_a_canary_that_went_back() {
        let mut canary = NodeChange::new("spark-b", NodeChangeOutcome::RolledBack)
            .with_reason("192.0.2.1 answered before and does not any more");
        canary.transaction = Some("20261115T100000Z-1".to_owned());
        canary.notes = vec!["nvidia_peermem is in use and stays loaded".to_owned()];
        let mut done = NodeChange::new("spark-c", NodeChangeOutcome::Confirmed);
        done.seconds = Some(7);
        let nodes = vec![
            NodeChange::new("spark-a\u{1b}[2J", NodeChangeOutcome::NotBegun)
                .with_reason("spark-b was rolled back"),
            canary,
            done,
            NodeChange::new("spark-d", NodeChangeOutcome::Unchanged),
        ];
        let mut changes = ApplyReport::new(nodes);
        let again = "crosstie apply --cluster sparks.toml";
        let undo = "crosstie rollback --run 20261115T100000Z-1f2e3d4c --cluster sparks.toml";
        changes.half_configured = changes.half_configured(again, undo);
        let text = view(&changes, false, Palette::Plain);
        insta::assert_snapshot!(text);
    }

    #[test]
    fn a_rollback_that_a_node_refused_says_what_finishes_it() {
        let seen = |second: NodeChangeOutcome| {
            let nodes = [
                ("spark-a", NodeChangeOutcome::RolledBack),
                ("spark-b", second),
            ];
            let nodes = nodes.map(|(node, outcome)| NodeChange {
                transaction: Some("0001".to_owned()),
                ..NodeChange::new(node, outcome)
            });
            let mut changes = ApplyReport::new(nodes.into());
            changes.half_rolled_back = changes.half_rolled_back("crosstie rollback --run 7");
            view(&changes, true, Palette::Plain)
        };
        for other in [
            NodeChangeOutcome::Refused,
            NodeChangeOutcome::NotBegun,
            NodeChangeOutcome::Failed,
        ] {
            let text = seen(other);
            assert!(
                text.ends_with(
                    "The cluster is half rolled back: spark-a is rolled back, and spark-b is not.\n  \
                     finish    crosstie rollback --run 7\n"
                ),
                "{text}"
            );
        }
        for other in [NodeChangeOutcome::RolledBack, NodeChangeOutcome::Unchanged] {
            assert!(!seen(other).contains("half"), "{other:?}");
        }
    }

    /// The outcome is that of any uninstall: programs go by it.
    #[test]
    fn an_uninstall_where_nothing_was_in_force_does_not_claim_a_rollback() {
        let change = NodeChange::new("spark-a", NodeChangeOutcome::RolledBack);
        let changes = ApplyReport::new(vec![change]);
        assert_eq!(
            view(&changes, true, Palette::Plain).trim_end(),
            "spark-a  nothing to roll back; Crosstie's files are removed"
        );
    }

    #[test]
    fn a_cluster_is_half_configured_where_this_run_was_kept_and_not_everywhere() {
        let half = |outcomes: &[NodeChangeOutcome]| {
            let nodes = outcomes.iter().zip(["spark-a", "spark-b"]);
            let nodes = nodes.map(|(outcome, node)| NodeChange::new(node, *outcome));
            let changes = ApplyReport::new(nodes.collect());
            changes.half_configured("", "").is_some()
        };
        for other in [
            NodeChangeOutcome::RolledBack,
            NodeChangeOutcome::RollingBack,
            NodeChangeOutcome::Refused,
            NodeChangeOutcome::NotBegun,
            NodeChangeOutcome::Failed,
        ] {
            assert!(half(&[NodeChangeOutcome::Confirmed, other]), "{other:?}");
            assert!(!half(&[NodeChangeOutcome::Unchanged, other]), "{other:?}");
        }
        assert!(!half(&[
            NodeChangeOutcome::Confirmed,
            NodeChangeOutcome::Unchanged
        ]));
        assert!(!half(&[
            NodeChangeOutcome::RolledBack,
            NodeChangeOutcome::NotBegun
        ]));
    }
}
