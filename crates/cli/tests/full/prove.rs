//! Faults that a proof must name: exactly one root, the right one, and no hang.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use crosstie_lab::hub::{Fault, Way};
use serde_json::Value;

use crate::common::{
    benches::no_worker_is_left,
    lab::sh,
    proofs::{prove, roots, rows, told},
    ups::{Proven, nodes, proven_two_sparks},
};

/// Everything, emulated, with every deadline of a dead node in it.
const LONGEST: Duration = Duration::from_secs(600);

fn proven_with(proven: &Proven, arguments: &[&str]) -> Value {
    let state = tempfile::tempdir().unwrap();
    proven_in(proven, state.path(), arguments)
}

fn proven_in(proven: &Proven, state: &Path, arguments: &[&str]) -> Value {
    let began = Instant::now();
    let output = prove(proven, state, arguments);
    assert!(began.elapsed() < LONGEST, "{:?}", began.elapsed());
    told(&output)
}

#[test]
fn full_prove_of_healthy_nodes_finds_nothing() {
    let proven = proven_two_sparks();
    let found = proven_with(&proven, &["--full", "--seconds", "1"]);
    assert_eq!(roots(&found), [""; 0], "{found:#}");
    for kind in [
        "reachability",
        "tcp-bandwidth",
        "rdma-latency",
        "rdma-write",
    ] {
        assert!(!rows(&found, kind).is_empty(), "{kind}: {found:#}");
    }
    let phases = |name: &str| {
        let mut pairs = found["pairs"].as_array().unwrap().iter();
        pairs.any(|pair| pair["phase"] == name)
    };
    assert!(phases("bidirectional"), "{found:#}");
    assert!(!found["rails"].as_array().unwrap().is_empty(), "{found:#}");
    no_worker_is_left(&proven.lab, &nodes(&proven.lab));
}

#[test]
fn full_prove_names_a_cut_cable() {
    let proven = proven_two_sparks();
    proven.lab.fault("spark-a:p0", Fault::Cut).unwrap();
    let found = proven_with(&proven, &["--quick"]);
    proven.lab.restore_all().unwrap();
    // Nothing is left to be measured: the doctor says why.
    assert_eq!(roots(&found), ["cable-dead"], "{found:#}");
}

#[test]
fn full_prove_names_loss_in_one_direction() {
    let proven = proven_two_sparks();
    let lab = &proven.lab;
    lab.fault_one_way("spark-a:p0", Fault::Loss(0.02), Way::Sent)
        .unwrap();
    let found = proven_with(&proven, &["--quick", "--seconds", "2"]);
    lab.restore_all().unwrap();
    assert_eq!(roots(&found), ["path-loses-packets"], "{found:#}");
}

#[test]
fn full_prove_names_a_smaller_mtu() {
    let proven = proven_two_sparks();
    sh(&proven.lab, "spark-a", "ip link set enp1s0f0np0 mtu 1500");
    let found = proven_with(&proven, &["--quick"]);
    let found = roots(&found);
    assert_eq!(found, ["mtu-small"], "{found:?}");
}

#[test]
fn full_prove_tells_of_a_node_that_does_not_answer() {
    let proven = proven_two_sparks();
    proven.lab.pause("spark-b").unwrap();
    let began = Instant::now();
    let state = tempfile::tempdir().unwrap();
    let output = prove(&proven, state.path(), &["--quick"]);
    proven.lab.resume("spark-b").unwrap();
    assert!(began.elapsed() < LONGEST);
    assert_ne!(output.status.code(), Some(0));
    let said = [&output.stdout[..], &output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(said.contains("spark-b"), "{said}");
}

#[test]
fn full_prove_tells_what_changed_since_the_last_one() {
    let proven = proven_two_sparks();
    let state = tempfile::tempdir().unwrap();
    proven_in(&proven, state.path(), &["--quick"]);
    for node in ["spark-a", "spark-b"] {
        sh(&proven.lab, node, "ip link set enp1s0f0np0 mtu 4200");
    }
    let found = proven_in(&proven, state.path(), &["--quick"]);
    let changes = found["changes"].to_string();
    assert!(
        changes.contains("MTU") || changes.contains("mtu"),
        "{found:#}"
    );
}
