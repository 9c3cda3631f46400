//! Two real kernels proven over Soft-RoCE, and the page of the run; every fault is in `full/prove.rs`.

use std::fs;

use crate::common::{
    benches::no_worker_is_left,
    proofs::{keep_run, limited_two_sparks, prove, roots, rows, told},
    ups::nodes,
};

#[test]
fn lab_prove_measures_every_rail_and_keeps_the_run() {
    let proven = limited_two_sparks();
    let state = tempfile::tempdir().unwrap();
    let output = prove(&proven, state.path(), &["--full", "--seconds", "1"]);
    keep_run(state.path(), "two-sparks");
    let found = told(&output);
    assert_eq!(roots(&found), [""; 0], "{found:#}");
    assert_eq!(output.status.code(), Some(0), "{found:#}");
    assert_eq!(found["finished"], true);
    // Two rails, both ways.
    assert_eq!(rows(&found, "reachability").len(), 4, "{found:#}");
    let writes = rows(&found, "rdma-write");
    let alone = writes.iter().filter(|row| row["phase"] == "solo");
    assert_eq!(alone.count(), 4, "{found:#}");
    for phase in ["solo", "all-rails", "bidirectional"] {
        let mut writes = writes.iter();
        assert!(writes.any(|row| row["phase"] == phase), "{phase}");
    }
    for row in writes {
        assert!(row["gbps"].as_f64() > Some(0.0), "{row:#}");
    }
    for row in rows(&found, "rdma-latency") {
        assert!(row["latency_us"]["p50"].as_f64() > Some(0.0), "{row:#}");
    }
    assert!(!rows(&found, "tcp-bandwidth").is_empty(), "{found:#}");
    let said = String::from_utf8_lossy(&output.stderr);
    let page = said
        .lines()
        .find_map(|line| line.strip_prefix("the report is "));
    let page = fs::read_to_string(page.unwrap_or_else(|| panic!("{said}"))).unwrap();
    assert!(page.contains("spark-a") && page.contains("spark-b"));
    no_worker_is_left(&proven.lab, &nodes(&proven.lab));
}
