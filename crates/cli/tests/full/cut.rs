//! Every edge of a change and of a rollback × everything that can cut it off, on real nodes.

use std::{path::PathBuf, sync::Mutex};

use crosstie_lab::{Lab, LabLease};
use tempfile::TempDir;

use crate::common::{
    changes,
    cuts::{
        self,
        cut_node::{cut_nodes, take_turns},
        table::{KILLED, POWER, Page, Table},
    },
    inits,
    lab::{containers, machines, sh},
};

const NODES: [&str; 2] = ["spark-a", "spark-b"];

/// A lab and its cluster file.
struct Cluster {
    lab: LabLease,
    directory: TempDir,
}

impl Cluster {
    fn new(lab: LabLease) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let cluster = Self { lab, directory };
        inits::json(&cluster.lab, &NODES, &cluster.file());
        cluster
    }

    fn file(&self) -> PathBuf {
        self.directory.path().join("cluster.toml")
    }
}

/// `CROSSTIE_CUTS=50` takes 50 that were not taken before; all of them take hours.
fn cut_off(lab: LabLease, page: &Page) {
    let wanted = std::env::var("CROSSTIE_CUTS").ok();
    let wanted = wanted.map_or(usize::MAX, |count| count.parse().unwrap());
    let cluster = Cluster::new(lab);
    let file = cluster.file();
    let cut_nodes = cut_nodes(&cluster.lab, &file, &NODES);
    let edges = &cut_nodes[0].edges;
    let table = Table::open(page, edges);
    let mut jobs = cuts::jobs(edges, page.cuts);
    jobs.retain(|job| !table.has(job));
    jobs.truncate(wanted);
    let table = Mutex::new(table);
    take_turns(&cut_nodes, jobs, |job, outcome| {
        table.lock().unwrap().add(job, outcome);
    });
    takes_a_change(&cluster.lab, &file);
}

#[test]
fn full_cut_off_changes_end_confirmed_or_rolled_back() {
    cut_off(containers("two-sparks"), &KILLED);
}

#[test]
fn full_power_cuts_end_confirmed_or_rolled_back() {
    let lab = machines("two-sparks");
    for node in NODES {
        // Then every boot shows that a rollback can begin on a root that nobody can write to yet.
        sh(&lab, node, "grep -qw ro /proc/cmdline");
    }
    cut_off(lab, &POWER);
}

/// After all of it.
fn takes_a_change(lab: &Lab, cluster: &std::path::Path) {
    let changed = changes::json(lab, cluster, 0, &["apply", "--yes"]);
    let all = NODES.map(|node| (node.to_owned(), "confirmed".to_owned()));
    assert_eq!(changes::outcomes(&changed), all.into(), "{changed:#}");
}
