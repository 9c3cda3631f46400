//! Two real kernels proven over Soft-RoCE, and a page made of the run; every fault is in `full/prove.rs`.

use std::{fs, process::Command};

use crate::common::{
    benches::no_worker_is_left,
    proofs::{prove, roots, rows, told},
    sshd::crosstie,
    ups::{nodes, proven_two_sparks},
};

/// What a slow moment of an emulated node looks like, where no rate is declared.
const SPEED: [&str; 4] = [
    "bandwidth-below-ceiling",
    "fabric-contended",
    "node-slow",
    "pair-slow",
];

#[test]
fn lab_prove_measures_every_rail_and_keeps_the_run() {
    let proven = proven_two_sparks();
    let state = tempfile::tempdir().unwrap();
    let output = prove(&proven, state.path(), &["--quick"]);
    let found = told(&output);
    // How fast emulated processors are at one moment is no fault of anything; what is read of the nodes is.
    let mut roots = roots(&found);
    roots.retain(|id| !SPEED.contains(&id.as_str()));
    assert_eq!(roots, [""; 0], "{found:#}");
    assert!(matches!(output.status.code(), Some(0 | 1)), "{found:#}");
    assert_eq!(found["finished"], true);
    // Two rails, both ways.
    assert_eq!(rows(&found, "reachability").len(), 4, "{found:#}");
    let writes = rows(&found, "rdma-write");
    assert_eq!(writes.len(), 4, "{found:#}");
    for row in writes {
        assert!(row["gbps"].as_f64() > Some(0.0), "{row:#}");
    }
    for row in rows(&found, "rdma-latency") {
        assert!(row["latency_us"]["p50"].as_f64() > Some(0.0), "{row:#}");
    }
    let page = state.path().join("report.html");
    let made = Command::new(crosstie())
        .args(["report", "--cluster"])
        .arg(&proven.cluster)
        .arg("-o")
        .arg(&page)
        .env("XDG_STATE_HOME", state.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&made.stderr);
    assert_eq!(made.status.code(), Some(0), "{said}");
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("spark-a") && page.contains("spark-b"));
    no_worker_is_left(&proven.lab, &nodes(&proven.lab));
}
