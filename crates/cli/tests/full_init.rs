//! `crosstie init` on the other labs, and on one that is cabled badly.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test says what went wrong by panicking

mod inits;

use crosstie_lab::{HubProgram, lease, profile::SegmentKind};
use inits::{CROSSTIE, cables, json, notes};

/// What the profile has, each segment's ends in order.
fn finds_the_profile(profile: &str) {
    let directory = tempfile::tempdir().unwrap();
    let lab = lease(profile, HubProgram::crosstie(CROSSTIE)).unwrap();
    let nodes: Vec<&str> = lab
        .profile()
        .nodes
        .iter()
        .map(|node| node.name.as_str())
        .collect();
    let found = json(&lab, &nodes, &directory.path().join("cluster.toml"));
    let mut expected: Vec<String> = Vec::new();
    for segment in &lab.profile().segments {
        let mut ends: Vec<String> = segment.ends.iter().map(ToString::to_string).collect();
        ends.sort();
        match segment.kind {
            SegmentKind::Cable => expected.push(ends.join(" ")),
            SegmentKind::Switch => expected.extend(ends.iter().map(|end| format!("{end} plane-1"))),
        }
    }
    expected.sort();
    let mut actual = cables(&found);
    actual.sort();
    assert_eq!(actual, expected, "{found:#}");
    let problems = found["notes"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|note| note["problem"] == true);
    assert_eq!(problems.count(), 0, "{found:#}");
}

#[test]
fn full_init_finds_a_ring() {
    finds_the_profile("three-ring");
}

#[test]
fn full_init_finds_a_switch() {
    finds_the_profile("switch-four");
}

#[test]
fn full_init_finds_a_mixed_pair() {
    finds_the_profile("spark-and-workstation");
}

/// Two nodes cabled crosswise, and a third machine, which init is not told of, on the spare cage of the first.
const BADLY_CABLED: &str = r#"
description = "crossed ports, and a stranger"
[kind.spark]
memory_mib = 640
vcpus = 1
network = "network-manager"
sudo = "free"
management = "enP7s7"
[[kind.spark.cage]]
name = "p0"
nics = [
  { netdev = "enp1s0f0np0", rdma = "rocep1s0f0", bus = 1, function = 0, mac_offset = 0 },
  { netdev = "enP2p1s0f0np0", rdma = "roceP2p1s0f0", bus = 2, function = 0, mac_offset = 4 },
]
[[kind.spark.cage]]
name = "p1"
nics = [
  { netdev = "enp1s0f1np1", rdma = "rocep1s0f1", bus = 1, function = 1, mac_offset = 1 },
  { netdev = "enP2p1s0f1np1", rdma = "roceP2p1s0f1", bus = 2, function = 1, mac_offset = 5 },
]
[[node]]
name = "cross-a"
kind = "spark"
[[node]]
name = "cross-b"
kind = "spark"
[[node]]
name = "stranger"
kind = "spark"
[[cable]]
ends = ["cross-a:p0", "cross-b:p1"]
[[cable]]
ends = ["cross-a:p1", "stranger:p0"]
"#;

#[test]
fn full_init_tells_crossed_ports_and_a_stranger() {
    let directory = tempfile::tempdir().unwrap();
    let profile = directory.path().join("badly-cabled.toml");
    std::fs::write(&profile, BADLY_CABLED).unwrap();
    let lab = lease(profile.to_str().unwrap(), HubProgram::crosstie(CROSSTIE)).unwrap();
    let file = directory.path().join("cluster.toml");
    let found = json(&lab, &["cross-a", "cross-b"], &file);
    assert_eq!(cables(&found), ["cross-a:p0 cross-b:p1"], "{found:#}");
    assert_eq!(
        notes(&found, &["crossed", "nobody", "stranger"]),
        ["nobody cross-a:p1", "crossed cross-a:p0 cross-b:p1"],
        "{found:#}"
    );
}
