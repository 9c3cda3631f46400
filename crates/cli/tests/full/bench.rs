//! RDMA measured between two real kernels, over Soft-RoCE: every operation, and what goes wrong meanwhile.

use crosstie_lab::{Lab, hub::CableFault};
use serde_json::Value;

use crate::common::{
    benches::{bench, bench_while, cells, command, figures_are_sound, no_worker_is_left, told},
    lab::sh,
    ups::{nodes, proven_two_sparks},
};

const NODES: [&str; 2] = ["spark-a", "spark-b"];

#[test]
fn full_bench_measures_every_rail_both_ways() {
    let proven = proven_two_sparks();
    let lab = &proven.lab;
    // RDMA needs no open port.
    for node in nodes(lab) {
        sh(
            lab,
            node,
            "nft add table inet strict
             nft add chain inet strict input '{ type filter hook input priority 0; }'
             nft add rule inet strict input iifname != enP7s7 meta l4proto tcp drop",
        );
    }
    for operation in ["write", "read", "send"] {
        let everything = ["--seconds", "1", "--bidirectional", "--verify-data"];
        let output = bench(
            lab,
            &[&everything[..], &["--operation", operation]].concat(),
        );
        let found = told(&output);
        assert_eq!(output.status.code(), Some(0), "{found:#}");
        let rails = found["rails"].as_array().unwrap();
        let devices: Vec<&Value> = rails.iter().map(|rail| &rail["devices"][0]).collect();
        assert_eq!(devices, ["roceP2p1s0f0", "rocep1s0f0"], "{found:#}");
        figures_are_sound(&found);
        // Per rail: two ways, both at once, two latencies, data two ways; of all rails the same without latency.
        assert_eq!(cells(&found).len(), 2 * 7 + 5, "{found:#}");
        no_worker_is_left(lab, &NODES);
    }
    let output = bench(lab, &["--seconds", "1", "--sweep"]);
    let found = told(&output);
    figures_are_sound(&found);
    let sizes = found["rails"][0]["sweep"]["there"]["measured"].as_array();
    let sizes: Vec<u64> = sizes
        .unwrap()
        .iter()
        .filter_map(|one| one["size"].as_u64())
        .collect();
    let wanted: Vec<u64> = (1..=23).map(|power| 1 << power).collect();
    assert_eq!(sizes, wanted);
}

/// What was measured, or an error that names a node; never nothing.
fn honest(lab: &Lab, found: &Value) {
    for (place, value) in cells(found) {
        if place.ends_with("not_measured") {
            let why = value.as_str().unwrap();
            assert!(
                NODES.iter().any(|node| why.contains(node)),
                "{place}: {why}"
            );
        }
    }
    no_worker_is_left(lab, &NODES);
}

fn best(found: &Value) -> f64 {
    let figures = cells(found).into_iter();
    let figures = figures.filter_map(|(_, value)| value["gbps"].as_f64());
    figures.fold(0.0, f64::max)
}

#[test]
fn full_bench_on_a_bad_cable_is_honest() {
    let proven = proven_two_sparks();
    let lab = &proven.lab;
    for fault in [CableFault::Loss(0.01), CableFault::RateBits(20_000_000)] {
        lab.fault("spark-a:p0", fault).unwrap();
        let found = told(&bench(lab, &["--seconds", "2"]));
        honest(lab, &found);
        if fault == CableFault::RateBits(20_000_000) {
            // All of both twins goes over this cable; headers are not in the figure.
            assert!(best(&found) < 0.025, "{found:#}");
        }
        lab.restore("spark-a:p0").unwrap();
    }
    // The lesser path MTU of both ends is used.
    sh(lab, "spark-a", "ip link set enp1s0f0np0 mtu 1500");
    let found = told(&bench(lab, &["--seconds", "1", "--verify-data"]));
    honest(lab, &found);
    figures_are_sound(&found);
}

#[test]
fn full_bench_names_a_peer_that_goes_and_leaves_no_worker() {
    for name in ["cut", "paused", "killed"] {
        let act = |lab: &Lab| match name {
            "cut" => lab.fault("spark-a:p0", CableFault::Cut).unwrap(),
            "paused" => lab.pause("spark-b").unwrap(),
            _ => lab.kill("spark-b").unwrap(),
        };
        let proven = proven_two_sparks();
        let lab = &proven.lab;
        let output = bench_while(lab, &["--seconds", "20"], || act(lab));
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{name}: {said}");
        let found = told(&output);
        let reasons = cells(&found).into_iter();
        let reasons: Vec<&str> = reasons
            .filter(|(place, _)| place.ends_with("not_measured"))
            .filter_map(|(_, why)| why.as_str())
            .collect();
        assert!(!reasons.is_empty(), "{name}: {found:#}");
        // A port without a carrier is each node's own; a node that is gone is what the other misses.
        let names_peer =
            |why: &&str| why.contains("spark-b") || name == "cut" && why.contains("is down");
        assert!(reasons.iter().all(names_peer), "{name}: {reasons:#?}");
        match name {
            "killed" => no_worker_is_left(lab, &NODES[..1]),
            "paused" => {
                lab.resume("spark-b").unwrap();
                no_worker_is_left(lab, &NODES);
            }
            _ => no_worker_is_left(lab, &NODES),
        }
    }
}

#[test]
fn full_bench_without_a_driver_is_not_measured_and_says_how_to_get_one() {
    let proven = proven_two_sparks();
    let lab = &proven.lab;
    sh(
        lab,
        "spark-b",
        "dpkg --remove --force-depends ibverbs-providers",
    );
    let output = bench(lab, &["--seconds", "1"]);
    let found = told(&output);
    assert_eq!(output.status.code(), Some(2), "{found:#}");
    for (place, value) in cells(&found) {
        assert!(place.ends_with("not_measured"), "{place}: {found:#}");
        let why = value.as_str().unwrap();
        assert!(why.contains("spark-b"), "{why}");
        assert!(why.contains("libibverbs lists no device"), "{why}");
        // Its own words.
        assert!(why.contains("no userspace device-specific driver"), "{why}");
    }
    let finding = &found["findings"][0];
    assert_eq!(finding["host"], "spark-b", "{found:#}");
    assert_eq!(finding["id"], "rdma-userspace-missing");
    assert_eq!(finding["commands"][0], "sudo apt install ibverbs-providers");
    no_worker_is_left(lab, &NODES);
}

/// A device with live queue pairs is refused, naming who has them.
#[test]
fn full_bench_leaves_a_device_in_use_alone() {
    let proven = proven_two_sparks();
    let lab = &proven.lab;
    sh(
        lab,
        "spark-b",
        // perftest makes its queue pairs once both ends have met.
        "setsid ib_write_bw -d rocep1s0f0 -D 120 >/dev/null 2>&1 </dev/null &
         sleep 3
         setsid ib_write_bw -d rocep1s0f0 -D 120 127.0.0.1 >/dev/null 2>&1 </dev/null &
         for i in $(seq 30); do rdma resource show qp link rocep1s0f0 | grep -q ib_write_bw && exit 0; sleep 1; done; exit 1",
    );
    let output = command(lab, &["--seconds", "1"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("rocep1s0f0 is in use by ib_write_bw ("),
        "{said}"
    );
}
