//! One rail measured over Soft-RoCE; every operation and every fault is in `full/bench.rs`.

use crate::common::{
    benches::{bench, cells, figures_are_sound, no_worker_is_left, told},
    lab::sh,
    ups::{nodes, proven_two_sparks},
};

#[test]
fn lab_bench_measures_a_rail() {
    let proven = proven_two_sparks();
    let lab = &proven.lab;
    sh(lab, "spark-a", "ip link set enP2p1s0f0np0 down");
    let output = bench(
        lab,
        &["--seconds", "1", "--operation", "send", "--verify-data"],
    );
    let found = told(&output);
    assert_eq!(output.status.code(), Some(0), "{found:#}");
    assert_eq!(found["rails"].as_array().unwrap().len(), 1, "{found:#}");
    figures_are_sound(&found);
    assert_eq!(cells(&found).len(), 6, "{found:#}");
    no_worker_is_left(lab, &nodes(lab));
}
