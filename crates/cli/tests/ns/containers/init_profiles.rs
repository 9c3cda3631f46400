//! `crosstie init` and `crosstie plan` on every kind of lab, and `init` on one that is cabled badly.

use std::{fs, path::Path};

use crosstie_lab::{Lab, profile::SegmentKind};
use serde_json::Value;

use crate::common::{
    changes,
    inits::{cables, init, json, notes},
    lab::containers,
    lint,
};

/// What the profile has, each segment's ends in order.
fn finds_the_profile(profile: &str) {
    let directory = tempfile::tempdir().unwrap();
    let lab = containers(profile);
    let nodes: Vec<&str> = lab
        .profile()
        .nodes
        .iter()
        .map(|node| node.name.as_str())
        .collect();
    let cluster = directory.path().join("cluster.toml");
    let found = json(&lab, &nodes, &cluster);
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
    keeps(&lab, profile, &nodes, &cluster, found);
    plans(&lab, &nodes, &cluster);
}

/// What programs get, and what a person sees of the same on the second run.
fn keeps(lab: &Lab, name: &str, nodes: &[&str], cluster: &Path, mut found: Value) {
    found["file"] = "cluster.toml".into();
    insta::assert_json_snapshot!(format!("{name}_json"), found);
    let shown = String::from_utf8(init(lab, nodes, cluster, &[]).stdout).unwrap();
    let shown = shown.replace(&*cluster.to_string_lossy(), "cluster.toml");
    insta::assert_snapshot!(format!("{name}_drawing"), shown);
}

/// Each node's files are taken by those who will read them.
fn plans(lab: &Lab, nodes: &[&str], cluster: &Path) {
    let out = cluster.with_file_name("plan");
    let planned = changes::run(
        lab,
        cluster,
        &["plan", "--sudo", "--out", out.to_str().unwrap()],
    );
    assert_eq!(planned.status.code(), Some(0), "{planned:?}");
    for node in nodes {
        let root = out.join(node);
        let managers = |root: &Path| {
            [lint::NETWORKD_UNITS, lint::CONNECTIONS].map(|made| lint::names(&root.join(made)))
        };
        assert_eq!(managers(&root), [Vec::<String>::new(), Vec::new()]);
        lint::netplan(&root);
        assert!(
            managers(&root).iter().any(|made| !made.is_empty()),
            "{node}"
        );
        lint::boot_unit(&root);
        lint::memory_lock_defaults(&root);
        lint::sysctl(&root);
        lint::nccl(&root);
    }
}

#[test]
fn init_finds_two_sparks() {
    finds_the_profile("two-sparks");
}

#[test]
fn init_finds_a_ring() {
    finds_the_profile("three-ring");
}

#[test]
fn init_finds_a_switch() {
    finds_the_profile("switch-four");
}

#[test]
fn init_finds_a_mixed_pair() {
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
fn init_tells_crossed_ports_and_a_stranger() {
    let directory = tempfile::tempdir().unwrap();
    let profile = directory.path().join("badly-cabled.toml");
    fs::write(&profile, BADLY_CABLED).unwrap();
    let lab = containers(profile.to_str().unwrap());
    let file = directory.path().join("cluster.toml");
    let found = json(&lab, &["cross-a", "cross-b"], &file);
    assert_eq!(cables(&found), ["cross-a:p0 cross-b:p1"], "{found:#}");
    assert_eq!(
        notes(&found, &["crossed", "nobody", "stranger"]),
        ["nobody cross-a:p1", "crossed cross-a:p0 cross-b:p1"],
        "{found:#}"
    );
    keeps(&lab, "badly-cabled", &["cross-a", "cross-b"], &file, found);
}
