//! Stages against nodes that are made up, and against captured ones.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex},
    time::Duration,
};

use crosstie_agent::CallError;
use crosstie_model::{
    ClusterSpec, Mtu, Reading,
    change::{
        ChangeError, ChangeReply, ChangeRequest, NodeChangeStatus, RollbackReport, TransactionKind,
        TransactionState, TransactionStatus,
    },
};
use crosstie_node::capture;
use crosstie_reach::SessionError;

use super::settle_open_changes::{SettleTimeouts, settle_interrupted};
use crate::{
    NodeFacts,
    doctor::foreseen,
    fake_session::{FakeNode, FakeSession, RUN, transaction},
    plan::plan_with_errors,
};

fn status(kind: TransactionKind, state: Option<TransactionState>) -> ChangeReply {
    let open = state.map(|state| TransactionStatus {
        seconds_left: Some(42),
        ..transaction(kind, state)
    });
    ChangeReply::Status(NodeChangeStatus {
        transactions: open.into_iter().collect(),
        drift: Vec::new(),
    })
}

/// What came of it, and what the node was asked.
fn settled(
    ours: Option<&str>,
    answers: Vec<Result<ChangeReply, CallError<ChangeError>>>,
) -> (Result<Option<String>, String>, Vec<String>) {
    let node = FakeSession {
        name: "spark-a".to_owned(),
        node: Mutex::new(Scripted {
            asked: Vec::new(),
            answers: answers.into_iter(),
        }),
    };
    let patience = SettleTimeouts {
        last: Duration::from_millis(200),
        pause: Duration::from_millis(1),
    };
    let answer = settle_interrupted(&node, ours, patience, &|_| ());
    let asked = node.node.into_inner().unwrap().asked;
    (answer.map_err(|error| error.to_string()), asked)
}

/// Answers in turn, whatever it is asked.
struct Scripted {
    asked: Vec<String>,
    answers: std::vec::IntoIter<Result<ChangeReply, CallError<ChangeError>>>,
}

impl FakeNode for Scripted {
    fn change(&mut self, ask: &ChangeRequest) -> Result<ChangeReply, CallError<ChangeError>> {
        self.asked.push(match ask {
            ChangeRequest::Status => "status".to_owned(),
            ChangeRequest::Rollback { transaction, .. } => format!("rollback {transaction:?}"),
            other => format!("{other:?}"),
        });
        let broken = Err(SessionError::Broken.into());
        self.answers.next().unwrap_or(broken)
    }
}

#[test]
fn where_nothing_is_open_nothing_is_done() {
    for state in [
        None,
        Some(TransactionState::Confirmed),
        Some(TransactionState::RolledBack),
    ] {
        let (answer, asked) = settled(Some(RUN), vec![Ok(status(TransactionKind::Apply, state))]);
        assert_eq!(answer, Ok(None));
        assert_eq!(asked, ["status"]);
    }
}

#[test]
fn a_run_of_our_own_that_was_cut_short_is_rolled_back_at_once() {
    let busy = Err(CallError::Call(ChangeError::Busy {
        what: "the guard".to_owned(),
    }));
    let (answer, asked) = settled(
        Some(RUN),
        vec![
            Ok(status(
                TransactionKind::Apply,
                Some(TransactionState::RollingBack),
            )),
            busy,
            Ok(status(
                TransactionKind::Apply,
                Some(TransactionState::Applied),
            )),
            Ok(ChangeReply::RolledBack(RollbackReport::default())),
            Ok(status(
                TransactionKind::Apply,
                Some(TransactionState::RolledBack),
            )),
        ],
    );
    assert!(answer.unwrap().unwrap().contains("rolled back"));
    let back = "rollback Some(\"7\")";
    assert_eq!(asked, ["status", back, "status", back, "status"]);
}

#[test]
fn a_change_of_somebody_elses_is_waited_for_and_never_touched() {
    for (ours, kind) in [
        (None, TransactionKind::Apply),
        // The same cluster, from another machine.
        (Some("20261115T095959Z-00000000"), TransactionKind::Apply),
        (Some("sparks"), TransactionKind::Apply),
        (None, TransactionKind::Try),
    ] {
        let (answer, asked) = settled(
            ours,
            vec![
                Ok(status(kind, Some(TransactionState::Applied))),
                Ok(status(kind, Some(TransactionState::Applied))),
                Ok(status(kind, Some(TransactionState::Confirmed))),
            ],
        );
        assert!(answer.unwrap().unwrap().contains("settled"));
        assert_eq!(asked, ["status"; 3]);
    }
    let ever = (0..1000).map(|_| {
        Ok(status(
            TransactionKind::Apply,
            Some(TransactionState::Applied),
        ))
    });
    let (answer, asked) = settled(None, ever.collect());
    assert!(
        answer
            .unwrap_err()
            .contains("is made and not confirmed yet")
    );
    assert!(asked.len() > 1);
}

fn nodes() -> (ClusterSpec, Vec<NodeFacts>) {
    let fixtures = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../fixtures");
    let cluster = std::fs::read_to_string(fixtures.join("clusters/pair.toml")).unwrap();
    let node = |name: &str| {
        let captures = capture::load(&fixtures.join("nodes").join(name)).unwrap();
        let raw = captures.into_iter().next().unwrap().raw.unwrap();
        NodeFacts {
            destination: raw.meta.host.clone(),
            facts: Arc::new(crosstie_facts::facts(&raw)),
            clock: None,
        }
    };
    let nodes = vec![node("spark-healthy"), node("spark-b-healthy")];
    (ClusterSpec::from_toml(&cluster).unwrap(), nodes)
}

/// Of the first node's findings that are no mere remarks: which, and whether the plan mends it.
fn fates(spec: &ClusterSpec, looked: &[NodeFacts]) -> Vec<(String, bool)> {
    let plan = plan_with_errors(spec, looked, None).unwrap();
    let seen = foreseen(looked, None, spec, Some(&plan)).into_iter();
    let alarms = seen.filter(|seen| seen.finding.severity != crosstie_model::Severity::Info);
    alarms
        .map(|seen| (seen.finding.id, seen.will_be_fixed))
        .collect()
}

#[test]
fn what_the_plan_mends_is_told_from_what_it_does_not() {
    let (spec, mut looked) = nodes();
    assert_eq!(fates(&spec, &looked), []);
    let facts = Arc::make_mut(&mut looked[0].facts);
    let fabric: Vec<String> = facts
        .rdma
        .iter()
        .flat_map(|device| &device.ports)
        .filter_map(|port| port.netdev.known().cloned())
        .collect();
    for interface in &mut facts.network.interfaces {
        if fabric.contains(&interface.name) {
            interface.addresses.clear();
            interface.mtu = Reading::Value(Mtu(1500));
        }
    }
    facts.system.limit_lines.clear();
    facts.system.locked_memory.soft = Reading::Value(Some(8 << 20));
    facts.system.locked_memory.hard = Reading::Value(Some(8 << 20));
    facts.system.clock_synchronised = Reading::Value(false);
    let mut fates = fates(&spec, &looked);
    fates.sort();
    fates.dedup();
    let fate = |id: &str, mended| (id.to_owned(), mended);
    assert_eq!(
        fates,
        [
            fate("clock-unsynchronised", false),
            fate("fabric-unaddressed", true),
            fate("memlock-limited", true),
            fate("mtu-mismatch", true),
            fate("mtu-small", true),
        ]
    );
}
