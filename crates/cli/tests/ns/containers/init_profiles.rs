//! `crosstie init` and `crosstie plan` on two kinds of lab (the tier `full` has the others), and `init` on one that is
//! cabled badly.

use std::fs;

use crate::common::{
    inits::{cables, json, notes},
    lab::containers,
    profiles::{finds_the_profile, keeps},
};

#[test]
fn init_finds_two_sparks() {
    finds_the_profile("two-sparks");
}

#[test]
fn init_finds_a_switch() {
    finds_the_profile("switch-four");
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
