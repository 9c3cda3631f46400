//! Conditions that no machine of the lab can be put into: one that was suspended, and one that is itself a container.

use crosstie_lab::Lab;

use crate::common::{
    changes::{json, same, shape},
    inits,
    lab::{containers_with, sh},
};

const NODE: &str = "spark-a";

/// The node takes a change and rolls it back there, too.
fn takes_a_change(lab: &Lab) {
    let directory = tempfile::tempdir().unwrap();
    let cluster = directory.path().join("cluster.toml");
    inits::json(lab, &[NODE, "spark-b"], &cluster);
    let before = shape(lab, NODE);
    json(lab, &cluster, 0, &["apply", NODE, "--yes"]);
    json(lab, &cluster, 0, &["rollback", NODE, "--yes"]);
    same(NODE, &before, &shape(lab, NODE));
}

#[test]
fn a_machine_that_slept_eight_hours() {
    const SLEPT: f64 = 8.0 * 3600.0;
    let lab = containers_with(NODE, "slept_seconds = 28800");
    // Seconds since the boot by CLOCK_BOOTTIME, and by CLOCK_MONOTONIC, which stands while a machine sleeps.
    let script = "python3 -c 'import time; print(time.clock_gettime(time.CLOCK_BOOTTIME) - time.monotonic())'";
    let ahead: f64 = sh(&lab, NODE, script).trim().parse().unwrap();
    let apart: f64 = sh(&lab, "spark-b", script).trim().parse().unwrap();
    assert!((ahead - apart - SLEPT).abs() < 1.0, "{ahead} {apart}");
    takes_a_change(&lab);
}

#[test]
fn a_machine_that_is_a_container_itself() {
    let lab = containers_with(NODE, "manager = \"lxc\"");
    assert_eq!(sh(&lab, NODE, "systemd-detect-virt"), "lxc\n");
    takes_a_change(&lab);
}
