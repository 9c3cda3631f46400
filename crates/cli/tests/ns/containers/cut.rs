//! A sample of what `full/cut.rs` does, without the power cuts: these take a machine.

use crate::common::{
    cuts::{
        self, Cut,
        place::{places, take_turns},
    },
    inits,
    lab::containers,
};

const NODES: [&str; 2] = ["spark-a", "spark-b"];
const SAMPLE: usize = 12;

#[test]
fn cut_off_changes_end_confirmed_or_rolled_back() {
    let directory = tempfile::tempdir().unwrap();
    let cluster = directory.path().join("cluster.toml");
    let lab = containers("two-sparks");
    inits::json(&lab, &NODES, &cluster);
    let places = places(&lab, &cluster, &NODES);
    let jobs = cuts::jobs(&places[0].edges).into_iter();
    let jobs = jobs.filter(|job| job.cut != Cut::Power).take(SAMPLE);
    take_turns(&places, jobs.collect(), |_, _| {});
}
