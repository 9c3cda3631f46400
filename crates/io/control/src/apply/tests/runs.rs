//! A rollback is of a run, wherever it is in force; and nobody rolls back what another began.

use crosstie_agent::NodeCalls;
use crosstie_model::change::{
    ChangeReply, ChangeRequest, NodeChangeStatus, TransactionKind, TransactionState,
    TransactionStatus,
};
use crosstie_report::{
    change::{NodeChange, NodeChangeOutcome},
    rollback::{RollbackPlan, RollbackSkipReason},
    suggested_command::CommandContext,
};

use super::{
    super::{
        choose_run::{NodeStatusReply, choose_run},
        rollback::{RollbackRoute, roll_back_node, undetermined_run},
    },
    Answer, Arc, Fake, LIMITS, RUN, only, transaction,
};
use crate::{Connector, NodeError};

const FIRST: &str = "20261116T100000Z-aaaaaaaa";
const SECOND: &str = "20261116T110000Z-00000000";
const OTHER: &str = "20261116T120000Z-bbbbbbbb";

fn one(id: &str, run: Option<&str>, state: TransactionState) -> TransactionStatus {
    TransactionStatus {
        id: id.to_owned(),
        run: run.map(str::to_owned),
        ..transaction(TransactionKind::Apply, state)
    }
}

fn kept(id: &str, run: &str) -> TransactionStatus {
    one(id, Some(run), TransactionState::Confirmed)
}

fn asked(nodes: &[Arc<Fake>]) -> Vec<NodeStatusReply> {
    let ask = |node: &Arc<Fake>| {
        let session = node.session(&|_| ()).unwrap();
        let answer = session.change(&ChangeRequest::Status, LIMITS.answer, &|_| ());
        let status = match answer {
            Ok(ChangeReply::Status(status)) => Ok(status),
            Ok(other) => panic!("{other:?}"),
            Err(error) => Err(NodeError::from(error)),
        };
        (node.name.clone(), status)
    };
    nodes.iter().map(ask).collect()
}

fn way<'a>(node: &'a Arc<Fake>, offer: &'a CommandContext) -> RollbackRoute<'a> {
    RollbackRoute {
        connector: node.as_ref(),
        offer,
        limits: LIMITS,
        progress: &|_| (),
    }
}

fn rollback(nodes: &[Arc<Fake>], named: Option<&str>) -> (RollbackPlan, Vec<NodeChange>) {
    let plan = choose_run(&asked(nodes), named).unwrap();
    let undone = |node: &Arc<Fake>, part| {
        let session = node.session(&|_| ()).unwrap();
        let offer = CommandContext::default();
        roll_back_node(&way(node, &offer), session.as_ref(), part, false)
    };
    let parts = nodes.iter().zip(&plan.nodes);
    let changes = parts.map(|(node, part)| undone(node, part)).collect();
    (plan, changes)
}

fn outcomes(changes: &[NodeChange]) -> Vec<(NodeChangeOutcome, &str)> {
    let nodes = changes.iter();
    nodes
        .map(|change| (change.outcome, change.why.as_deref().unwrap_or_default()))
        .collect()
}

#[test]
fn the_last_run_is_undone_where_it_is_in_force_and_an_older_one_nowhere() {
    let nodes = ["spark-a", "spark-b"].map(Fake::new);
    nodes[0].holds(&[kept("1", FIRST), kept("2", SECOND)]);
    nodes[1].holds(&[kept("1", FIRST)]);
    let (plan, changes) = rollback(&nodes, None);
    assert_eq!(plan.run.as_deref(), Some(SECOND));
    assert_eq!(
        outcomes(&changes),
        [
            (NodeChangeOutcome::RolledBack, ""),
            (NodeChangeOutcome::Unchanged, "not part of it")
        ]
    );
    assert_eq!(nodes[0].in_force(), ["1"]);
    assert_eq!(nodes[1].in_force(), ["1"]);
    let (plan, changes) = rollback(&nodes, None);
    assert_eq!(plan.run.as_deref(), Some(FIRST));
    assert_eq!(outcomes(&changes), [(NodeChangeOutcome::RolledBack, ""); 2]);
    let (plan, changes) = rollback(&nodes, None);
    assert_eq!(plan.run, None);
    assert!(!plan.has_work());
    assert_eq!(
        outcomes(&changes),
        [(NodeChangeOutcome::Unchanged, "nothing to roll back"); 2]
    );
}

#[test]
fn a_node_that_went_back_from_the_run_keeps_what_it_had_before() {
    let nodes = ["spark-a", "spark-b", "spark-c"].map(Fake::new);
    nodes[0].holds(&[kept("1", FIRST), kept("2", SECOND)]);
    let back = one("2", Some(SECOND), TransactionState::RolledBack);
    nodes[1].holds(&[kept("1", FIRST), back]);
    // Not confirmed yet is in force, too.
    nodes[2].holds(&[
        kept("1", FIRST),
        one("2", Some(SECOND), TransactionState::Applied),
    ]);
    let (plan, changes) = rollback(&nodes, None);
    let left: Vec<_> = plan.nodes.iter().map(|node| node.left_alone).collect();
    assert_eq!(
        left,
        [None, Some(RollbackSkipReason::AlreadyRolledBack), None]
    );
    assert_eq!(
        outcomes(&changes)[1],
        (NodeChangeOutcome::Unchanged, "already rolled back")
    );
    assert!(nodes.iter().all(|node| node.in_force() == ["1"]));
}

#[test]
fn a_run_that_is_named_goes_with_everything_after_it_and_no_further() {
    let nodes = ["spark-a", "spark-b"].map(Fake::new);
    let three = [kept("1", FIRST), kept("2", SECOND), kept("3", OTHER)];
    nodes[0].holds(&three);
    nodes[1].holds(&[kept("1", FIRST)]);
    let (plan, _) = rollback(&nodes, Some(SECOND));
    let ids = plan.nodes[0].transactions.iter();
    let ids: Vec<_> = ids.map(|one| one.id.as_str()).collect();
    assert_eq!(ids, ["3", "2"]);
    assert_eq!(nodes[0].in_force(), ["1"]);
    assert_eq!(nodes[1].in_force(), ["1"]);
    let unknown = choose_run(&asked(&nodes), Some("7")).unwrap_err();
    assert!(unknown.to_string().contains("no node knows the run 7"));
}

#[test]
fn a_change_without_a_run_is_a_run_of_its_own() {
    let nodes = ["spark-a", "spark-b"].map(Fake::new);
    let old = |began: &str| TransactionStatus {
        began: began.to_owned(),
        ..one("1", None, TransactionState::Confirmed)
    };
    nodes[0].holds(&[old("2026-11-15T10:00:00Z")]);
    nodes[1].holds(&[old("2026-11-15T10:00:01Z")]);
    let (plan, _) = rollback(&nodes, None);
    assert_eq!(plan.run.as_deref(), Some("1"));
    assert_eq!(nodes[0].in_force(), ["1"]);
    assert_eq!(nodes[1].in_force(), [""; 0]);
    // Runs and changes without one are told apart by time.
    nodes[1].holds(&[kept("1", "20261114T100000Z-00000000")]);
    rollback(&nodes, None);
    assert_eq!(nodes[0].in_force(), [""; 0]);
    assert_eq!(nodes[1].in_force(), ["1"]);
    // By its transaction it can be named, on its node alone: a change of a run is named by that.
    nodes[0].holds(&[old("2026-11-15T10:00:00Z"), kept("2", SECOND)]);
    nodes[1].holds(&[kept("1", FIRST)]);
    rollback(&nodes, Some("1"));
    assert_eq!(nodes[0].in_force(), [""; 0]);
    assert_eq!(nodes[1].in_force(), ["1"]);
    for node in &nodes {
        node.holds(&[old("2026-11-15T10:00:00Z")]);
    }
    let both = choose_run(&asked(&nodes), Some("1")).unwrap_err();
    assert_eq!(
        both.to_string(),
        "1 is a change of its own on each of spark-a, spark-b: name one of these nodes beside --run"
    );
}

#[test]
fn a_nodes_own_order_counts_more_than_the_clocks_of_controllers() {
    let nodes = ["spark-a", "spark-b"].map(Fake::new);
    // The second controller's clock is behind.
    nodes[0].holds(&[kept("1", SECOND), kept("2", FIRST)]);
    nodes[1].holds(&[kept("1", SECOND)]);
    let (plan, _) = rollback(&nodes, None);
    assert_eq!(plan.run.as_deref(), Some(FIRST));
    assert_eq!(nodes[0].in_force(), ["1"]);
    nodes[0].holds(&[kept("1", SECOND), kept("2", FIRST)]);
    nodes[1].holds(&[kept("1", FIRST), kept("2", SECOND)]);
    let crossed = choose_run(&asked(&nodes), None).unwrap_err().to_string();
    assert!(crossed.ends_with(&format!("one of {FIRST}, {SECOND}")));
}

#[test]
fn where_a_node_is_silent_the_newest_run_is_not_known() {
    let nodes = ["spark-a", "spark-b"].map(Fake::new);
    nodes[0].holds(&[kept("1", FIRST)]);
    nodes[1].answers("status", Answer::Lost);
    let asked = asked(&nodes);
    let plan = choose_run(&asked, None).unwrap();
    let changes = undetermined_run(&plan, None).unwrap();
    let found: Vec<_> = changes.iter().map(|change| change.outcome).collect();
    assert_eq!(
        found,
        [NodeChangeOutcome::NotBegun, NodeChangeOutcome::Failed]
    );
    let why = changes[0].why.as_deref().unwrap();
    assert!(why.contains(&format!("--run {FIRST}")), "{why}");
    // Whoever names the run knows it.
    let plan = choose_run(&asked, Some(FIRST)).unwrap();
    assert_eq!(undetermined_run(&plan, Some(FIRST)), None);
    assert!(plan.has_work());
}

#[test]
fn a_change_that_came_after_what_was_shown_is_not_undone() {
    let node = Fake::new("spark-a");
    let journal = [kept("1", FIRST), kept("2", OTHER)];
    node.holds(&journal);
    let shown = NodeChangeStatus {
        transactions: journal[..1].to_vec(),
        drift: Vec::new(),
    };
    let plan = choose_run(&[("spark-a".to_owned(), Ok(shown))], None).unwrap();
    let session = node.session(&|_| ()).unwrap();
    let part = &plan.nodes[0];
    let offer = CommandContext {
        lab: Some("two-sparks".to_owned()),
        ..CommandContext::default()
    };
    let change = roll_back_node(&way(&node, &offer), session.as_ref(), part, false);
    assert_eq!(change.outcome, NodeChangeOutcome::Refused);
    let why = change.why.unwrap();
    assert!(
        why.ends_with(": crosstie rollback --lab two-sparks"),
        "{why}"
    );
    assert_eq!(node.in_force(), ["1", "2"]);
}

#[test]
fn a_lost_node_keeps_what_another_controller_began_since() {
    let node = Fake::new("spark-a");
    node.answers("apply", Answer::Lost);
    // Ours rolled back by itself, and another's is open now.
    let ours = one("7", Some(RUN), TransactionState::RolledBack);
    let theirs = one("8", Some(OTHER), TransactionState::Applied);
    node.holds(&[ours, theirs.clone()]);
    let change = only(&node);
    assert_eq!(change.outcome, NodeChangeOutcome::RolledBack);
    assert_eq!(change.transaction.as_deref(), Some("7"));
    assert_eq!(node.in_force(), ["8"]);
    // Ours was never begun.
    node.holds(&[theirs]);
    let change = only(&node);
    assert_eq!(change.outcome, NodeChangeOutcome::Failed);
    assert_eq!(node.in_force(), ["8"]);
}

#[test]
fn a_confirmation_that_was_lost_does_not_undo_what_came_after() {
    let node = Fake::new("spark-a");
    node.answers("confirm", Answer::Lost);
    node.holds(&[
        kept("7", RUN),
        one("8", Some(OTHER), TransactionState::Applied),
    ]);
    let change = only(&node);
    assert_eq!(change.outcome, NodeChangeOutcome::Failed);
    assert_eq!(node.in_force(), ["7", "8"]);
}
