use crosstie_doctor::Diagnosis;
use crosstie_grade::simulated::{Fabric, Fault, Shape};
use crosstie_model::run::{Mode, Outcome, Run, TestKind};

use super::{Prove, view};
use crate::{document::NodeFailure, text::Palette};

fn run(shape: Shape, faults: Vec<Fault>, mode: Mode) -> Run {
    let fabric = Fabric {
        shape,
        faults,
        seed: 11,
    };
    let mut run = fabric.prove(mode).0;
    run.end = Some(crosstie_model::run::End {
        reason: crosstie_model::run::EndReason::Finished,
        offset_milliseconds: 60_000,
    });
    run
}

fn switched(nodes: usize) -> Shape {
    Shape::Switched {
        nodes,
        leaf: nodes,
        oversubscription: 1,
    }
}

fn shown(run: &Run) -> String {
    view(&Prove::new(run, None), Palette::Plain)
}

#[test]
fn a_healthy_pair() {
    insta::assert_snapshot!(shown(&run(
        Shape::Pair { rails: 2 },
        Vec::new(),
        Mode::Full
    )));
}

/// What answers and was not measured is not proven: `prove` ends with 2 for it.
#[test]
fn a_run_without_any_figure_is_unmeasured() {
    let mut run = run(Shape::Pair { rails: 1 }, Vec::new(), Mode::Quick);
    assert!(!Prove::new(&run, None).is_unmeasured());
    for measurement in &mut run.measurements {
        if measurement.kind != TestKind::Reachability {
            measurement.outcome = Outcome::NotApplicable {
                reason: "libibverbs is not installed".to_owned(),
            };
        }
    }
    let proved = Prove::new(&run, None);
    assert!(proved.is_unmeasured() && !proved.has_faults());
    let unread = NodeFailure {
        host: "spark-b".to_owned(),
        error: "it did not answer".to_owned(),
    };
    let nothing = Prove::examined(None, None, &Diagnosis::default(), &[unread]);
    let shown = view(&nothing, Palette::Plain);
    assert!(shown.contains("spark-b: it did not answer"), "{shown}");
    assert!(shown.contains("nothing could be measured"), "{shown}");
    assert!(nothing.is_unmeasured() && !nothing.has_faults());
}

#[test]
fn a_slow_pair_with_its_ledger_and_set() {
    let slow = Fault::SlowPath {
        a: 0,
        b: 1,
        percent: 60,
    };
    insta::assert_snapshot!(shown(&run(
        Shape::Pair { rails: 1 },
        vec![slow],
        Mode::Full
    )));
}

#[test]
fn a_matrix_with_a_slow_node() {
    let slow = Fault::SlowNode {
        node: 2,
        percent: 50,
    };
    insta::assert_snapshot!(shown(&run(switched(5), vec![slow], Mode::Full)));
}

#[test]
fn many_nodes_show_the_odd_ones_and_what_was_not_tested() {
    let slow = Fault::SlowNode {
        node: 7,
        percent: 50,
    };
    insta::assert_snapshot!(shown(&run(switched(64), vec![slow], Mode::Quick)));
}

#[test]
fn the_json_has_what_others_rely_on() {
    let run = run(Shape::Pair { rails: 1 }, Vec::new(), Mode::Full);
    let json = serde_json::to_value(Prove::new(&run, Some(&run))).unwrap();
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
    let mut run = run(Shape::Pair { rails: 1 }, Vec::new(), Mode::Full);
    for one in &mut run.measurements {
        one.outcome = Outcome::Failed {
            error: "\u{1b}[2Jowned\u{202e}".to_owned(),
        };
    }
    let text = shown(&run);
    assert!(
        !text.contains('\u{1b}') && !text.contains('\u{202e}'),
        "{text}"
    );
}
