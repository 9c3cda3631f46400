//! Every edge of a change and of the way back × everything that can cut it off, on real nodes.

use std::sync::Mutex;

use crate::common::{
    changes,
    cuts::{
        self,
        place::{places, take_turns},
        table::Table,
    },
    inits,
    lab::{machines, sh},
};

const NODES: [&str; 2] = ["spark-a", "spark-b"];

/// Takes hours on emulated nodes: `CROSSTIE_CUTS=50` takes 50 that were not taken before.
#[test]
fn full_cut_off_changes_end_confirmed_or_back() {
    let wanted = std::env::var("CROSSTIE_CUTS").ok();
    let wanted = wanted.map_or(usize::MAX, |count| count.parse().unwrap());
    let directory = tempfile::tempdir().unwrap();
    let cluster = directory.path().join("cluster.toml");
    let lab = machines("two-sparks");
    inits::json(&lab, &NODES, &cluster);
    for node in NODES {
        // Then every boot shows that the way back can begin on a root that nobody can write to yet.
        sh(&lab, node, "grep -qw ro /proc/cmdline");
    }
    let places = places(&lab, &cluster, &NODES);
    let edges = &places[0].edges;
    let table = Table::open(edges);
    let mut jobs = cuts::jobs(edges);
    jobs.retain(|job| !table.has(job));
    jobs.truncate(wanted);
    let table = Mutex::new(table);
    take_turns(&places, jobs, |job, outcome| {
        table.lock().unwrap().add(job, outcome);
    });
    let changed = changes::json(&lab, &cluster, 0, &["apply", "--yes"]);
    let all = NODES.map(|node| (node.to_owned(), "confirmed".to_owned()));
    assert_eq!(changes::outcomes(&changed), all.into(), "{changed:#}");
}
