//! Every edge of a change and of the way back × everything that can cut it off, on real nodes.

use std::{path::PathBuf, sync::Mutex};

use crosstie_lab::{Lab, Lease};
use tempfile::TempDir;

use crate::common::{
    changes,
    cuts::{
        self, Cut, Job,
        place::{Place, places, take_turns},
        table::Table,
    },
    inits,
    lab::{containers, machines, sh},
};

const NODES: [&str; 2] = ["spark-a", "spark-b"];

/// A lab and its cluster file.
struct Cluster {
    lab: Lease,
    directory: TempDir,
}

impl Cluster {
    fn new(lab: Lease) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let cluster = Self { lab, directory };
        inits::json(&cluster.lab, &NODES, &cluster.file());
        cluster
    }

    fn file(&self) -> PathBuf {
        self.directory.path().join("cluster.toml")
    }
}

/// Takes hours where machines are emulated: `CROSSTIE_CUTS=50` takes 50 that were not taken before.
#[test]
fn full_cut_off_changes_end_confirmed_or_back() {
    let wanted = std::env::var("CROSSTIE_CUTS").ok();
    let wanted = wanted.map_or(usize::MAX, |count| count.parse().unwrap());
    let quick = Cluster::new(containers("two-sparks"));
    let quick_file = quick.file();
    let quick_places = places(&quick.lab, &quick_file, &NODES);
    let edges = &quick_places[0].edges;
    let table = Table::open(edges);
    let mut jobs = cuts::jobs(edges);
    jobs.retain(|job| !table.has(job));
    jobs.truncate(wanted);
    let table = Mutex::new(table);
    let ended = |job: Job, outcome: &str| table.lock().unwrap().add(job, outcome);
    let (power, killed): (Vec<Job>, Vec<Job>) =
        jobs.into_iter().partition(|job| job.cut == Cut::Power);
    take_turns(&quick_places, killed, ended);
    takes_a_change(&quick.lab, &quick_file);
    if power.is_empty() {
        return;
    }

    let slow = Cluster::new(machines("two-sparks"));
    for node in NODES {
        // Then every boot shows that the way back can begin on a root that nobody can write to yet.
        sh(&slow.lab, node, "grep -qw ro /proc/cmdline");
    }
    let slow_file = slow.file();
    let slow_places: Vec<Place<'_>> = places(&slow.lab, &slow_file, &NODES);
    assert_eq!(&slow_places[0].edges, edges, "machines pass other edges");
    take_turns(&slow_places, power, ended);
    takes_a_change(&slow.lab, &slow_file);
}

/// After all of it.
fn takes_a_change(lab: &Lab, cluster: &std::path::Path) {
    let changed = changes::json(lab, cluster, 0, &["apply", "--yes"]);
    let all = NODES.map(|node| (node.to_owned(), "confirmed".to_owned()));
    assert_eq!(changes::outcomes(&changed), all.into(), "{changed:#}");
}
