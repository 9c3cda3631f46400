//! Changes of real nodes that are cut off: the power goes, the agent is killed, the controller is killed.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test says what went wrong by panicking

mod changes;
mod inits;
mod lab;
mod sshd;

use std::{fmt, path::Path, thread, time::Duration};

use changes::{json, outcomes, run, same, shape, start, wait_for, wait_until_settled};
use crosstie_lab::{HubProgram, Lab, lease};
use inits::CROSSTIE;
use lab::sh;

const NODES: [&str; 2] = ["spark-a", "spark-b"];
/// So that a node whose agent was killed need not be waited for long.
const APPLY: [&str; 3] = ["--yes", "--guard", "60"];

/// Edges of a sample are below this; a change of a Spark passes some more.
const EDGES: u64 = 60;
const MORE_THAN_THERE_ARE: u64 = 1000;
const SEED: u64 = 20_261_115;

#[derive(Clone, Copy)]
enum Cut {
    Power,
    Agent,
    Controller,
}

impl fmt::Display for Cut {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Power => "power cut",
            Self::Agent => "agent killed",
            Self::Controller => "controller killed",
        })
    }
}

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

/// One node, and what it is to be after everything.
struct Place<'a> {
    lab: &'a Lab,
    cluster: &'a Path,
    node: &'a str,
    before: String,
}

impl Place<'_> {
    /// Whether a change was cut off there: behind the last edge it is not, and is taken back.
    fn cut(&self, cut: Cut, edge: u64) -> bool {
        let place = format!("{}, {cut} at edge {edge}", self.node);
        let order = match cut {
            Cut::Power => "reset",
            Cut::Agent => "kill",
            Cut::Controller => "hold",
        };
        let script = format!("umask 077; echo '{edge} {order}' > /run/crosstie-rehearsal");
        sh(self.lab, self.node, &script);
        let apply = [&["apply", self.node], &APPLY[..]].concat();
        let mut controller = start(self.lab, self.cluster, &apply);
        if matches!(cut, Cut::Controller) && self.is_held() {
            controller.kill().unwrap();
        }
        let ended = controller.wait_with_output().unwrap();
        let was_cut = ended.status.code() != Some(0);
        if was_cut {
            wait_for(self.lab, self.node);
            wait_until_settled(self.lab, self.node);
        } else {
            sh(self.lab, self.node, "rm -f /run/crosstie-rehearsal");
            json(self.lab, self.cluster, 0, &["rollback", self.node, "--yes"]);
        }
        // A guard that was cut off while it was armed is cleared away by whatever command comes next.
        let status = run(self.lab, self.cluster, &["status", self.node]);
        assert_eq!(
            status.status.code(),
            Some(0),
            "{place}: {status:?}\n{ended:?}"
        );
        same(&place, &self.before, &shape(self.lab, self.node));
        was_cut
    }

    /// Once the order is gone, everything waits. Behind the last edge it stays.
    fn is_held(&self) -> bool {
        let script = "for i in $(seq 240); do [ -e /run/crosstie-rehearsal ] || exit 0; \
             grep -qs confirmed /var/lib/crosstie/changes/*/state.json && exit 1; sleep 0.5; done; exit 1";
        let waited =
            self.lab
                .exec_as_root(self.node, &["sh", "-c", script], Duration::from_secs(150));
        waited.unwrap().code == Some(0)
    }
}

/// All edges with `CROSSTIE_CUTS=all`, which takes hours on emulated nodes; else six power cuts and two of each other way.
#[test]
fn full_cut_off_changes_go_back_by_themselves() {
    let everything = std::env::var("CROSSTIE_CUTS").is_ok_and(|wanted| wanted == "all");
    let directory = tempfile::tempdir().unwrap();
    let cluster = directory.path().join("cluster.toml");
    let lab = lease("two-sparks", HubProgram::crosstie(CROSSTIE)).unwrap();
    inits::json(&lab, &NODES, &cluster);
    for node in NODES {
        lab.reboot(node).unwrap();
    }
    for node in NODES {
        wait_for(&lab, node);
        // Then every boot shows that the way back can begin on a root that nobody can write to yet.
        sh(&lab, node, "grep -qw ro /proc/cmdline");
    }
    thread::scope(|scope| {
        for (index, node) in NODES.into_iter().enumerate() {
            let place = Place {
                lab: &lab,
                cluster: &cluster,
                node,
                before: shape(&lab, node),
            };
            scope.spawn(move || {
                for (cut, count) in [(Cut::Agent, 2), (Cut::Controller, 2), (Cut::Power, 6)] {
                    let edges = if everything {
                        (1..=MORE_THAN_THERE_ARE).collect()
                    } else {
                        sample(count)
                    };
                    for edge in edges.into_iter().skip(index).step_by(NODES.len()) {
                        let was_cut = place.cut(cut, edge);
                        println!(
                            "| {edge} | {cut} | {node} | {} |",
                            if was_cut { "back" } else { "passed" }
                        );
                        if everything && !was_cut {
                            break;
                        }
                    }
                }
            });
        }
    });
    let changed = json(&lab, &cluster, 0, &["apply", "--yes"]);
    let all = NODES.map(|node| (node.to_owned(), "confirmed".to_owned()));
    assert_eq!(outcomes(&changed), all.into(), "{changed:#}");
}
