//! Every edge of a change and of the way back × everything that can cut it off, on real nodes.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test says what went wrong by panicking

mod changes;
mod cuts;
mod inits;
mod lab;
mod sshd;

use std::{collections::BTreeMap, fmt::Write, fs, sync::Mutex};

use crosstie_lab::{HubProgram, lease};
use cuts::{CUTS, Job, Operation};
use inits::CROSSTIE;
use lab::sh;

const NODES: [&str; 2] = ["spark-a", "spark-b"];
const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/edges-lab.md");
const INTRODUCTION: &str = "\
# Cut off at every edge, on real nodes

What [edges.md](edges.md) tries in a temporary root, here on the nodes of the lab `two-sparks`: netplan, NetworkManager,
systemd, sshd, a disk with a journal, and power that goes without warning (what was not synced is lost, so a power cut is a
torn write too). Each cut waits until the node answers ssh again and its guard is gone.
**back**: every file below `/etc`, its owner, mode and time, and every value of the ports are what they were.
**kept**: the node is confirmed, and went back byte for byte when it was asked to. An empty cell has not been tried.

`make test-full` makes this table.
";

fn page(edges: &[(Operation, Vec<String>)], outcomes: &BTreeMap<Job, &str>) -> String {
    let all: usize = edges
        .iter()
        .map(|(_, names)| names.len() * CUTS.len())
        .sum();
    let mut page = format!("{INTRODUCTION}\n{} cuts of {all}.\n", outcomes.len());
    for (operation, names) in edges {
        let head =
            "| | edge | agent killed | controller killed | power cut |\n|--:|---|---|---|---|";
        writeln!(page, "\n## {operation}\n\n{head}").unwrap();
        for (edge, name) in (1..).zip(names) {
            write!(page, "| {edge} | {name} |").unwrap();
            for cut in CUTS {
                let job = Job {
                    operation: *operation,
                    edge,
                    cut,
                };
                write!(page, " {} |", outcomes.get(&job).unwrap_or(&"")).unwrap();
            }
            page.push('\n');
        }
    }
    page
}

/// Takes hours on emulated nodes: `CROSSTIE_CUTS=50` takes 50 of them. The page is written after each.
#[test]
fn full_cut_off_changes_end_confirmed_or_back() {
    let wanted = std::env::var("CROSSTIE_CUTS").ok();
    let wanted = wanted.map_or(usize::MAX, |count| count.parse().unwrap());
    let directory = tempfile::tempdir().unwrap();
    let cluster = directory.path().join("cluster.toml");
    let lab = lease("two-sparks", HubProgram::crosstie(CROSSTIE)).unwrap();
    inits::json(&lab, &NODES, &cluster);
    changes::reboot(&lab, &NODES);
    for node in NODES {
        // Then every boot shows that the way back can begin on a root that nobody can write to yet.
        sh(&lab, node, "grep -qw ro /proc/cmdline");
    }
    let edges = cuts::edges(&lab, &cluster, NODES[0]);
    let mut jobs = cuts::jobs(&edges);
    jobs.truncate(wanted);
    let outcomes = Mutex::new(BTreeMap::new());
    let place = (&*lab, cluster.as_path());
    cuts::take_turns(place, &NODES, jobs, |job, outcome| {
        println!("{job}: {outcome}");
        let mut outcomes = outcomes.lock().unwrap();
        outcomes.insert(job, outcome);
        fs::write(PAGE, page(&edges, &outcomes)).unwrap();
    });
    let changed = changes::json(&lab, &cluster, 0, &["apply", "--yes"]);
    let all = NODES.map(|node| (node.to_owned(), "confirmed".to_owned()));
    assert_eq!(changes::outcomes(&changed), all.into(), "{changed:#}");
}
