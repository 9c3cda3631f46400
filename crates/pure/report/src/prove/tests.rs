use crosstie_doctor::Diagnosis;
use crosstie_grade::simulated::{SimulatedFabric, SimulatedFault, SimulatedTopology};
use crosstie_model::run::{MeasurementOutcome, ProofMode, StoredRun, TestKind};

use super::{ProveReport, view};
use crate::{document::NodeFailure, text::Palette};

fn run(shape: SimulatedTopology, faults: Vec<SimulatedFault>, mode: ProofMode) -> StoredRun {
    let fabric = SimulatedFabric {
        shape,
        faults,
        seed: 11,
    };
    let mut run = fabric.prove(mode).0;
    run.end = Some(crosstie_model::run::RunEnd {
        reason: crosstie_model::run::RunEndReason::Finished,
        offset_milliseconds: 60_000,
    });
    run
}

fn switched(nodes: usize) -> SimulatedTopology {
    SimulatedTopology::Switched {
        nodes,
        leaf: nodes,
        oversubscription: 1,
    }
}

fn shown(run: &StoredRun) -> String {
    view(&ProveReport::new(run, None), Palette::Plain)
}

#[test]
fn a_healthy_pair() {
    insta::assert_snapshot!(shown(&run(
        SimulatedTopology::Pair { rails: 2 },
        Vec::new(),
        ProofMode::Full
    )));
}

/// What answers and was not measured is not proven: `prove` ends with 2 for it.
#[test]
fn a_run_without_any_figure_is_unmeasured() {
    let mut run = run(
        SimulatedTopology::Pair { rails: 1 },
        Vec::new(),
        ProofMode::Quick,
    );
    assert!(!ProveReport::new(&run, None).is_unmeasured());
    for measurement in &mut run.measurements {
        if measurement.kind != TestKind::Reachability {
            measurement.outcome = MeasurementOutcome::NotApplicable {
                reason: "libibverbs is not installed".to_owned(),
            };
        }
    }
    let proved = ProveReport::new(&run, None);
    assert!(proved.is_unmeasured() && !proved.has_faults());
    let table = view(&proved, Palette::Plain);
    let why = "not applicable: libibverbs is not installed";
    assert_eq!(
        table.replace("\n    ", " ").matches(why).count(),
        1,
        "{table}"
    );
    for measurement in &mut run.measurements {
        if measurement.kind == TestKind::Reachability {
            measurement.outcome = MeasurementOutcome::Failed {
                error: "only root may ask".to_owned(),
            };
        }
    }
    let silent = ProveReport::new(&run, None);
    assert!(silent.has_faults() && silent.is_undecided());
    let text = view(&silent, Palette::Plain);
    assert!(
        text.contains(", rail 0, reachability: only root may ask"),
        "{text}"
    );
    let unread = NodeFailure {
        host: "spark-b".to_owned(),
        error: "it did not answer".to_owned(),
    };
    let nothing = ProveReport::examined(None, None, &Diagnosis::default(), &[unread]);
    let shown = view(&nothing, Palette::Plain);
    assert!(shown.contains("spark-b: it did not answer"), "{shown}");
    assert!(shown.contains("nothing could be measured"), "{shown}");
    assert!(nothing.is_unmeasured() && !nothing.has_faults());
}

#[test]
fn a_slow_pair_with_its_ledger_and_set() {
    let slow = SimulatedFault::SlowPath {
        a: 0,
        b: 1,
        percent: 60,
    };
    insta::assert_snapshot!(shown(&run(
        SimulatedTopology::Pair { rails: 1 },
        vec![slow],
        ProofMode::Full
    )));
}

#[test]
fn a_matrix_with_a_slow_node() {
    let slow = SimulatedFault::SlowNode {
        node: 2,
        percent: 50,
    };
    insta::assert_snapshot!(shown(&run(switched(5), vec![slow], ProofMode::Full)));
}

#[test]
fn many_nodes_show_the_odd_ones_and_what_was_not_tested() {
    let slow = SimulatedFault::SlowNode {
        node: 7,
        percent: 50,
    };
    insta::assert_snapshot!(shown(&run(switched(64), vec![slow], ProofMode::Quick)));
}

#[test]
fn the_json_has_what_others_rely_on() {
    let run = run(
        SimulatedTopology::Pair { rails: 1 },
        Vec::new(),
        ProofMode::Full,
    );
    let json = serde_json::to_value(ProveReport::new(&run, Some(&run))).unwrap();
    assert_eq!(json["format"], 1);
    assert_eq!(json["changes"], serde_json::json!([]));
    let pairs = json["pairs"].as_array().unwrap();
    let write = pairs
        .iter()
        .find(|pair| pair["kind"] == "rdma-write")
        .unwrap();
    for key in [
        "from",
        "to",
        "rail",
        "kind",
        "size",
        "gbps",
        "ceiling_gbps",
        "latency_us",
        "verdict",
        "doubts",
    ] {
        assert!(write.get(key).is_some(), "{key}");
    }
    let latency = pairs
        .iter()
        .find(|pair| pair["kind"] == "rdma-latency")
        .unwrap();
    assert_eq!(latency["latency_us"]["p50"], 1.5);
    assert!(json["collectives"].is_array() && json["findings"].is_array());
    insta::assert_json_snapshot!(write);
}

#[test]
fn a_node_cannot_talk_to_the_terminal() {
    let mut run = run(
        SimulatedTopology::Pair { rails: 1 },
        Vec::new(),
        ProofMode::Full,
    );
    for one in &mut run.measurements {
        one.outcome = MeasurementOutcome::Failed {
            error: "\u{1b}[2Jowned\u{202e}".to_owned(),
        };
    }
    let text = shown(&run);
    assert!(
        !text.contains('\u{1b}') && !text.contains('\u{202e}'),
        "{text}"
    );
}
