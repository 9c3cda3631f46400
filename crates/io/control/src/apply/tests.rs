//! The order of things, with nodes that are made up: each writes down what it is asked, and over which connection.

#![allow(clippy::unwrap_used)] // a test says what went wrong by panicking

mod fake;
mod runs;

use std::{path::Path, sync::Arc, time::Duration};

use crosstie_facts::facts;
use crosstie_model::{
    ClusterSpec, Mtu, NodePlan, PlanStep, Reading,
    change::{
        ApplyRequest, ChangeError, ChangeRequest, ReachabilityProbe, TransactionKind,
        TransactionState,
    },
    plan,
};
use crosstie_node::capture;
use crosstie_report::{
    change::{NodeChange, NodeChangeOutcome},
    rollback::NodeRollbackPlan,
    suggested_command::CommandContext,
};

use super::{
    change_targets::PeerProbes,
    node_calls::{ApplyTimeouts, ChangeCallError},
    rollback::RollbackRoute,
    rollout::{NodeRollout, roll_out},
    transaction::ChangeTarget,
    unreachable,
};
use crate::{
    FleetRound, NoObserver, NodeError,
    fake_session::{RUN, transaction},
};
use fake::{Answer, Fake};

const SAMPLE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../../fixtures/nodes/spark-healthy"
);

const LIMITS: ApplyTimeouts = ApplyTimeouts {
    answer: Duration::from_secs(1),
    connect: Duration::from_secs(1),
    rollback: Duration::from_secs(1),
    settle: Duration::ZERO,
    pause: Duration::ZERO,
};

fn gateway(last: u8) -> ReachabilityProbe {
    ReachabilityProbe::Ping {
        address: [192, 0, 2, last].into(),
        interface: None,
        bytes: None,
    }
}

fn greeting() -> ReachabilityProbe {
    ReachabilityProbe::Greeting {
        address: ([192, 0, 2, 10], 22).into(),
    }
}

fn job(node: &Arc<Fake>, seen_by: Option<&[&Arc<Fake>]>) -> NodeRollout {
    NodeRollout {
        subject: ChangeTarget {
            node: node.name.clone(),
            connector: Arc::clone(node) as _,
            probes: vec![gateway(1), gateway(2)],
            seen_by: seen_by.map(|peers| PeerProbes {
                peers: peers.iter().map(|peer| Arc::clone(peer) as _).collect(),
                greetings: vec![greeting()],
            }),
            offer: CommandContext::default(),
        },
        order: ApplyRequest {
            run: RUN.to_owned(),
            cluster: "sparks".to_owned(),
            plan: NodePlan {
                node: node.name.clone(),
                basis: String::new(),
                refusals: Vec::new(),
                steps: vec![PlanStep::from(plan::KernelModule {
                    name: "rdma_rxe".to_owned(),
                    loaded: plan::ValueChange {
                        from: false,
                        to: true,
                    },
                })],
                notes: Vec::new(),
                addresses: Vec::new(),
                settings: Vec::new(),
            },
            guard_seconds: 120,
            force: false,
        },
        again: Box::new(|_| None),
    }
}

fn carried_out(jobs: Vec<NodeRollout>, canary: Option<usize>) -> Vec<NodeChange> {
    let observer = Arc::new(NoObserver) as _;
    roll_out(
        jobs,
        canary,
        LIMITS,
        &FleetRound::begin(&observer, &[], false),
    )
}

fn outcomes(changes: &[NodeChange]) -> Vec<NodeChangeOutcome> {
    changes.iter().map(|change| change.outcome).collect()
}

fn only(node: &Arc<Fake>) -> NodeChange {
    carried_out(vec![job(node, None)], None).remove(0)
}

#[test]
fn a_node_is_confirmed_over_a_new_connection_while_the_first_is_open() {
    let node = Fake::new("spark-a").reaching(&[gateway(1)]);
    let change = only(&node);
    assert_eq!(change.outcome, NodeChangeOutcome::Confirmed);
    assert_eq!(change.transaction.as_deref(), Some("7"));
    assert_eq!(change.notes, [""; 0]);
    assert_eq!(
        node.log(),
        [
            "first: reach 192.0.2.1 192.0.2.2",
            "first: apply",
            "fresh: opened",
            // What did not answer before is not asked for.
            "fresh: reach 192.0.2.1",
            "fresh: confirm 7",
            "first: closed",
        ]
    );
}

/// The node before it may have brought up the other end of its cable.
#[test]
fn a_stale_plan_is_made_again_and_carried_out_if_it_is_the_same() {
    let what = "network interfaces eth1".to_owned();
    let stale = || Answer::SaysOnce(ChangeError::Stale { what: what.clone() });
    let node = Fake::new("spark-a").reaching(&[gateway(1)]);
    node.answers("apply", stale());
    let mut same = job(&node, None);
    let order = same.order.clone();
    same.again = Box::new(move |_| Some(ChangeRequest::Apply(Box::new(order.clone()))));
    let changes = carried_out(vec![same], None);
    assert_eq!(outcomes(&changes), [NodeChangeOutcome::Confirmed]);
    assert_eq!(node.log()[1..3], ["first: apply", "first: apply"]);

    let node = Fake::new("spark-a").reaching(&[gateway(1)]);
    node.answers("apply", stale());
    let change = only(&node);
    assert_eq!(change.outcome, NodeChangeOutcome::Refused);
    assert!(change.why.unwrap().contains("network interfaces eth1"));
    assert_eq!(node.log()[1..], ["first: apply", "first: closed"]);
}

#[test]
fn another_plan_is_not_carried_out_in_place_of_a_stale_one() {
    let raw = capture::load(Path::new(SAMPLE)).unwrap().remove(0).raw;
    let then = facts(&raw.unwrap());
    let cages = crosstie_fabric::cages(&then, None);
    let text = format!(
        "format = 1\nname = \"sparks\"\n[fabric]\nmtu = 9000\npool = \"10.77.0.0/16\"\n[[node]]\nname = \"{name}\"\n\
         number = 1\n[[cable]]\nport = \"{name}:{}\"\nplane = \"leaf\"\n",
        cages[0].id,
        name = then.host.name
    );
    let spec: ClusterSpec = ClusterSpec::from_toml(&text).unwrap();
    let plan = crosstie_plan::plan(&spec, std::slice::from_ref(&then)).unwrap();
    let order = ApplyRequest {
        plan: plan.nodes[0].clone(),
        ..job(&Fake::new("spark-a"), None).order
    };
    assert!(!order.plan.steps.is_empty());
    let again = super::replanned_request(spec, vec![then.clone()], order.clone());
    let mut now = then.clone();
    now.host.boot_id = Reading::Value("another".to_owned());
    let Some(ChangeRequest::Apply(same)) = again(&now) else {
        panic!("a boot id is in no step");
    };
    assert_eq!(same.plan.steps, order.plan.steps);
    assert_eq!(same.plan.basis, crosstie_plan::basis(&now));
    for interface in &mut now.network.interfaces {
        interface.max_mtu = Reading::Value(Mtu(1500));
    }
    assert!(again(&now).is_none());
}

#[test]
fn when_the_canary_is_rolled_back_nobody_else_is_begun() {
    let nodes: Vec<_> = ["spark-a", "spark-b", "spark-c"].map(Fake::new).into();
    let nodes: Vec<_> = nodes
        .into_iter()
        .map(|node| node.reaching(&[gateway(1)]))
        .collect();
    nodes[1].cuts_off(&[gateway(1)]);
    let jobs = || nodes.iter().map(|node| job(node, None)).collect();
    let changes = carried_out(jobs(), Some(1));
    assert_eq!(
        outcomes(&changes),
        [
            NodeChangeOutcome::NotBegun,
            NodeChangeOutcome::RolledBack,
            NodeChangeOutcome::NotBegun
        ]
    );
    assert!(nodes[0].log().is_empty() && nodes[2].log().is_empty());
    let why = changes[0].why.as_deref().unwrap();
    assert!(why.contains("spark-b"), "{why}");
    // The same with another first: those that are confirmed stay so.
    let changes = carried_out(jobs(), None);
    assert_eq!(
        outcomes(&changes)[..2],
        [NodeChangeOutcome::Confirmed, NodeChangeOutcome::RolledBack]
    );
}

#[test]
fn a_gateway_that_answered_before_and_does_not_any_more_is_a_rollback() {
    let node = Fake::new("spark-a").reaching(&[gateway(1), gateway(2)]);
    node.cuts_off(&[gateway(2)]);
    let change = only(&node);
    assert_eq!(change.outcome, NodeChangeOutcome::RolledBack);
    let why = change.why.unwrap();
    assert!(why.contains("192.0.2.2"), "{why}");
    assert_eq!(change.notes, ["left: a module"]);
    assert_eq!(
        node.log()[3..],
        [
            "fresh: reach 192.0.2.1 192.0.2.2",
            "fresh: rollback 7",
            "first: closed"
        ]
    );
}

#[test]
fn where_the_confirmation_is_lost_it_is_rolled_back_over_what_still_works() {
    let node = Fake::new("spark-a").reaching(&[gateway(1)]);
    node.answers("confirm", Answer::Lost);
    let change = only(&node);
    assert_eq!(change.outcome, NodeChangeOutcome::RolledBack);
    assert_eq!(
        node.log()[4..],
        ["fresh: confirm 7", "first: rollback 7", "first: closed"]
    );
    let late = Fake::new("spark-b");
    late.answers(
        "confirm",
        Answer::Says(ChangeError::NotOpen {
            transaction: "7".to_owned(),
            state: "rolled back by its guard".to_owned(),
        }),
    );
    let change = only(&late);
    assert_eq!(change.outcome, NodeChangeOutcome::RolledBack);
    assert!(late.log().iter().all(|line| !line.contains("rollback")));
}

#[test]
fn without_a_new_connection_the_first_rolls_it_back_and_without_any_the_node_does() {
    let node = Fake::new("spark-a");
    node.shuts(1);
    let change = only(&node);
    assert_eq!(change.outcome, NodeChangeOutcome::RolledBack);
    assert_eq!(
        node.log(),
        [
            "first: reach 192.0.2.1 192.0.2.2",
            "first: apply",
            "fresh: shut",
            "first: rollback 7",
            "first: closed"
        ]
    );
    let cut = Fake::new("spark-b");
    cut.shuts(9);
    cut.answers("rollback", Answer::Lost);
    let change = only(&cut);
    assert_eq!(change.outcome, NodeChangeOutcome::RollingBack);
    let why = change.why.unwrap();
    assert!(why.contains("rolls back by itself within"), "{why}");
}

#[test]
fn a_node_that_falls_silent_is_looked_after_by_its_journal() {
    for (state, outcome, asked) in [
        (None, NodeChangeOutcome::Failed, false),
        (
            Some(TransactionState::Confirmed),
            NodeChangeOutcome::Failed,
            false,
        ),
        (
            Some(TransactionState::RolledBack),
            NodeChangeOutcome::RolledBack,
            false,
        ),
        (
            Some(TransactionState::Armed),
            NodeChangeOutcome::RolledBack,
            true,
        ),
    ] {
        let node = Fake::new("spark-a");
        node.answers("apply", Answer::Lost);
        node.stands(state);
        let change = only(&node);
        assert_eq!(change.outcome, outcome, "{state:?}");
        let log = node.log();
        // The session that began it is closed first, so that the node knows.
        assert_eq!(
            log[2..5],
            ["first: closed", "fresh: opened", "fresh: status"]
        );
        assert_eq!(log[5..].contains(&"fresh: rollback 7".to_owned()), asked);
    }
}

#[test]
fn a_rollback_that_fell_silent_is_begun_again_if_it_had_begun() {
    for (state, outcome) in [
        (None, NodeChangeOutcome::Failed),
        (Some(TransactionState::Confirmed), NodeChangeOutcome::Failed),
        // Somebody else's.
        (Some(TransactionState::Armed), NodeChangeOutcome::Failed),
        (
            Some(TransactionState::RollingBack),
            NodeChangeOutcome::RolledBack,
        ),
        // By itself, meanwhile.
        (
            Some(TransactionState::RolledBack),
            NodeChangeOutcome::RolledBack,
        ),
    ] {
        let node = Fake::new("spark-a");
        node.stands(state);
        let error = ChangeCallError::Unreachable(NodeError::Busy);
        let part = transaction(TransactionKind::Apply, TransactionState::Confirmed);
        let part = NodeRollbackPlan::undone("spark-a", vec![part]);
        let question = ChangeRequest::Rollback {
            transaction: Some("7".to_owned()),
            only: Some(vec!["7".to_owned()]),
            force: false,
            why: None,
        };
        let offer = CommandContext::default();
        let way = RollbackRoute {
            connector: node.as_ref(),
            offer: &offer,
            limits: LIMITS,
            progress: &|_| (),
        };
        let change = unreachable::resume_rollback(&way, &part, &question, &error);
        assert_eq!(change.outcome, outcome, "{state:?}");
        let why = match outcome {
            NodeChangeOutcome::RolledBack => "it has not answered an earlier call yet",
            _ => {
                "it has not answered an earlier call yet; see how it stands: crosstie status spark-a"
            }
        };
        assert_eq!(change.why.as_deref(), Some(why));
        let asked = node.log().contains(&"fresh: rollback 7".to_owned());
        assert_eq!(asked, outcome == NodeChangeOutcome::RolledBack);
    }
}

#[test]
fn a_nodes_own_no_is_told_and_stops_the_others() {
    let busy = ChangeError::Busy {
        what: "another apply".to_owned(),
    };
    let nodes = [Fake::new("spark-a"), Fake::new("spark-b")];
    nodes[0].answers("apply", Answer::Says(busy.clone()));
    let jobs = nodes.iter().map(|node| job(node, None)).collect();
    let changes = carried_out(jobs, None);
    assert_eq!(
        outcomes(&changes),
        [NodeChangeOutcome::Refused, NodeChangeOutcome::NotBegun]
    );
    assert_eq!(changes[0].why, Some(busy.to_string()));
}

/// It may be as planned at this moment, and being rolled back.
#[test]
fn a_node_with_nothing_to_do_is_asked_first_and_may_say_no() {
    let nodes = [Fake::new("spark-a"), Fake::new("spark-b")];
    let jobs = || {
        let mut idle = job(&nodes[1], None);
        idle.order.plan.steps.clear();
        idle.subject = idle.subject.without_probes();
        vec![job(&nodes[0], None), idle]
    };
    let changes = carried_out(jobs(), None);
    assert_eq!(
        outcomes(&changes),
        [NodeChangeOutcome::Confirmed, NodeChangeOutcome::Unchanged]
    );
    assert_eq!(nodes[1].log(), ["first: apply", "first: closed"]);
    let busy = ChangeError::Busy {
        what: "another change".to_owned(),
    };
    nodes[1].answers("apply", Answer::Says(busy));
    // Also where it should go first.
    let changes = carried_out(jobs(), Some(1));
    assert_eq!(
        outcomes(&changes),
        [NodeChangeOutcome::NotBegun, NodeChangeOutcome::Refused]
    );
}

#[test]
fn a_node_whose_guard_is_at_work_is_asked_again() {
    let busy = ChangeError::Busy {
        what: "its guard".to_owned(),
    };
    let node = Fake::new("spark-a").reaching(&[gateway(1)]);
    node.answers("confirm", Answer::SaysOnce(busy.clone()));
    let changes = carried_out(vec![job(&node, None)], None);
    assert_eq!(outcomes(&changes), [NodeChangeOutcome::Confirmed]);

    let node = Fake::new("spark-b").reaching(&[gateway(1)]);
    node.cuts_off(&[gateway(1)]);
    node.answers("rollback", Answer::SaysOnce(busy));
    let changes = carried_out(vec![job(&node, None)], None);
    assert_eq!(outcomes(&changes), [NodeChangeOutcome::RolledBack]);
}

#[test]
fn a_peer_confirms_the_machine_that_we_sit_at_and_it_comes_last() {
    let here = Fake::new(".").reaching(&[gateway(1)]);
    let peer = Fake::new("spark-b").reaching(&[greeting()]);
    let jobs = vec![job(&here, Some(&[&peer])), job(&peer, None)];
    let changes = carried_out(jobs, None);
    assert_eq!(outcomes(&changes), [NodeChangeOutcome::Confirmed; 2]);
    assert_eq!(changes[0].notes, [""; 0]);
    let log = peer.log();
    assert_eq!(log[3], "fresh: confirm 7");
    // It kept its session, was asked before and after, and may be asked again.
    assert_eq!(log[5..], ["fresh: reach 192.0.2.10:22"; 2]);
}

#[test]
fn a_peer_that_saw_this_machine_before_and_does_not_now_is_a_rollback() {
    let here = Fake::new(".").reaching(&[gateway(1)]);
    let blind = Fake::new("spark-a");
    let peer = Fake::new("spark-b").reaching(&[greeting()]);
    peer.forgets_after(1);
    let change = carried_out(vec![job(&here, Some(&[&blind, &peer]))], None).remove(0);
    assert_eq!(change.outcome, NodeChangeOutcome::RolledBack);
    let why = change.why.unwrap();
    assert!(why.starts_with("spark-b reached this before"), "{why}");
    // Where nobody saw it before, its own probes have to do, and that is said.
    let here = Fake::new(".").reaching(&[gateway(1)]);
    let change = carried_out(vec![job(&here, Some(&[&blind]))], None).remove(0);
    assert_eq!(change.outcome, NodeChangeOutcome::Confirmed);
    assert_eq!(change.notes.len(), 1);
}
