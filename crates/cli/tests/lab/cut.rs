//! A sample of what `full/cut.rs` does.

use crate::common::{
    cuts::{
        self, Cut,
        place::{places, take_turns},
    },
    inits,
    lab::machines,
};

const NODES: [&str; 2] = ["spark-a", "spark-b"];

#[test]
fn lab_cut_off_changes_end_confirmed_or_back() {
    let directory = tempfile::tempdir().unwrap();
    let cluster = directory.path().join("cluster.toml");
    let lab = machines("two-sparks");
    inits::json(&lab, &NODES, &cluster);
    let places = places(&lab, &cluster, &NODES);
    let jobs = cuts::jobs(&places[0].edges);
    let some = |cut: Cut, count: usize| {
        let jobs = jobs.iter().copied();
        jobs.filter(move |job| job.cut == cut).take(count)
    };
    let sample = some(Cut::Power, 6)
        .chain(some(Cut::Agent, 1))
        .chain(some(Cut::Controller, 1));
    take_turns(&places, sample.collect(), |_, _| {});
}
