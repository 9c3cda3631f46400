//! Real nodes changed, and changed back: netplan, NetworkManager, systemd, sshd, and power that goes.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test says what went wrong by panicking

mod changes;
mod inits;
mod lab;
mod sshd;

use changes::{answers, json, outcomes, run, shape, wait_for};
use crosstie_lab::{HubProgram, lease};
use inits::CROSSTIE;
use lab::sh;

const NODES: [&str; 2] = ["spark-a", "spark-b"];

#[test]
fn lab_apply_is_proven_survives_a_boot_and_goes_back() {
    let directory = tempfile::tempdir().unwrap();
    let cluster = directory.path().join("cluster.toml");
    let lab = lease("two-sparks", HubProgram::crosstie(CROSSTIE)).unwrap();
    inits::json(&lab, &NODES, &cluster);
    let before = NODES.map(|node| shape(&lab, node));

    let changed = json(&lab, &cluster, 0, &["apply", "--yes"]);
    let all = |outcome: &str| {
        NODES
            .map(|node| (node.to_owned(), outcome.to_owned()))
            .into()
    };
    assert_eq!(outcomes(&changed), all("confirmed"), "{changed:#}");
    let status = json(&lab, &cluster, 0, &["status"]);
    assert_eq!(status["nodes"].as_array().unwrap().len(), 2, "{status:#}");
    answers(&lab, "spark-a", "spark-b");
    let again = json(&lab, &cluster, 0, &["apply", "--yes"]);
    assert_eq!(outcomes(&again), all("unchanged"), "{again:#}");

    let back = json(&lab, &cluster, 0, &["rollback", "--yes"]);
    assert_eq!(outcomes(&back), all("rolled-back"), "{back:#}");
    for (node, before) in NODES.into_iter().zip(&before) {
        same(node, before, &shape(&lab, node));
    }

    json(&lab, &cluster, 0, &["apply", "--yes"]);
    for node in NODES {
        lab.reboot(node).unwrap();
    }
    for node in NODES {
        wait_for(&lab, node);
    }
    answers(&lab, "spark-a", "spark-b");
    answers(&lab, "spark-b", "spark-a");
    let status = run(&lab, &cluster, &["status"]);
    assert_eq!(status.status.code(), Some(0), "{status:?}");
    sh(
        &lab,
        "spark-a",
        "echo 'net.ipv4.ip_forward = 1' >> /etc/sysctl.d/90-crosstie.conf",
    );
    let drifted = json(&lab, &cluster, 1, &["status"]);
    assert!(
        drifted
            .to_string()
            .contains("/etc/sysctl.d/90-crosstie.conf"),
        "{drifted:#}"
    );
}

fn same(node: &str, before: &str, after: &str) {
    let gone = before
        .lines()
        .filter(|line| !after.lines().any(|other| other == *line));
    let new = after
        .lines()
        .filter(|line| !before.lines().any(|other| other == *line));
    let lines: Vec<String> = gone
        .map(|line| format!("- {line}"))
        .chain(new.map(|line| format!("+ {line}")))
        .collect();
    assert!(
        lines.is_empty(),
        "{node} is not as it was:\n{}",
        lines.join("\n")
    );
}
