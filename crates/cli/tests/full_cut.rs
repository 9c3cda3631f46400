//! Changes of real nodes that are cut off: the power goes, the agent is killed, the controller is killed.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test says what went wrong by panicking

mod changes;
mod inits;
mod lab;
mod sshd;

use std::{path::Path, thread, time::Duration};

use changes::{json, outcomes, run, same, shape, start, wait_for, wait_until_settled};
use crosstie_lab::{HubProgram, Lab, lease};
use inits::CROSSTIE;
use lab::sh;

const NODES: [&str; 2] = ["spark-a", "spark-b"];

/// A change of a Spark passes some more than these.
const EDGES: u64 = 60;
const SEED: u64 = 20_261_115;

/// Numbers that look like chance and are the same every time.
fn sample(count: usize) -> Vec<u64> {
    let mut state = SEED;
    let next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % EDGES + 1
    };
    std::iter::repeat_with(next).take(count).collect()
}

fn rehearse(lab: &Lab, node: &str, order: &str) {
    let script = format!("umask 077; echo '{order}' > /run/crosstie-rehearsal");
    sh(lab, node, &script);
}

/// Nothing is left, and the node is as it was. A guard that was cut off while it was armed is cleared away by whatever
/// command comes next.
fn is_back(lab: &Lab, cluster: &Path, node: &str, before: &str, place: &str) {
    let status = run(lab, cluster, &["status", node]);
    assert_eq!(status.status.code(), Some(0), "{place}: {status:?}");
    same(&format!("{node}, {place}"), before, &shape(lab, node));
}

#[test]
fn full_cut_off_changes_go_back_by_themselves() {
    let directory = tempfile::tempdir().unwrap();
    let cluster = directory.path().join("cluster.toml");
    let lab = lease("two-sparks", HubProgram::crosstie(CROSSTIE)).unwrap();
    inits::json(&lab, &NODES, &cluster);
    for node in NODES {
        lab.reboot(node).unwrap();
    }
    for node in NODES {
        wait_for(&lab, node);
    }
    let before = NODES.map(|node| shape(&lab, node));
    let edges = sample(6);
    thread::scope(|scope| {
        for (index, node) in NODES.into_iter().enumerate() {
            let (lab, cluster, before) = (&*lab, &cluster, &before[index]);
            let own: Vec<u64> = edges.iter().copied().skip(index).step_by(2).collect();
            scope.spawn(move || {
                for edge in own {
                    rehearse(lab, node, &format!("{edge} reset"));
                    let cut = run(lab, cluster, &["apply", node, "--yes"]);
                    assert_ne!(cut.status.code(), Some(0), "{node} {edge}: {cut:?}");
                    wait_for(lab, node);
                    is_back(
                        lab,
                        cluster,
                        node,
                        before,
                        &format!("power cut at edge {edge}"),
                    );
                }
            });
        }
    });

    // The agent dies: the guard goes back at its time, alone.
    rehearse(&lab, "spark-a", "40 kill");
    let killed = run(
        &lab,
        &cluster,
        &["apply", "spark-a", "--yes", "--guard", "60"],
    );
    assert_ne!(killed.status.code(), Some(0), "{killed:?}");
    wait_until_settled(&lab, "spark-a");
    is_back(&lab, &cluster, "spark-a", &before[0], "agent killed");

    // The controller dies once the first change is made: the node goes back without being asked.
    let mut controller = start(&lab, &cluster, &["apply", "spark-b", "--yes"]);
    wait_for_change(&lab, "spark-b");
    controller.kill().unwrap();
    controller.wait().unwrap();
    wait_until_settled(&lab, "spark-b");
    is_back(&lab, &cluster, "spark-b", &before[1], "controller killed");

    let changed = json(&lab, &cluster, 0, &["apply", "--yes"]);
    let all = NODES.map(|node| (node.to_owned(), "confirmed".to_owned()));
    assert_eq!(outcomes(&changed), all.into(), "{changed:#}");
}

fn wait_for_change(lab: &Lab, node: &str) {
    let script = "for i in $(seq 120); do [ -e /etc/netplan/90-crosstie.yaml ] && exit 0; sleep 0.5; done; exit 1";
    let waited = lab.exec_as_root(node, &["sh", "-c", script], Duration::from_secs(150));
    assert_eq!(waited.unwrap().code, Some(0), "{node} was not changed");
}
