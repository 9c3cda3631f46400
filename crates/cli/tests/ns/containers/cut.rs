//! A sample of what `full/cut.rs` does, without the power cuts: these take a machine.

use crate::common::{
    cuts::{
        self,
        cut_node::{cut_nodes, take_turns},
        table::KILLED,
    },
    inits,
    lab::containers,
};

const NODES: [&str; 2] = ["spark-a", "spark-b"];
const SAMPLE: usize = 6;

#[test]
fn cut_off_changes_end_confirmed_or_rolled_back() {
    let directory = tempfile::tempdir().unwrap();
    let cluster = directory.path().join("cluster.toml");
    let lab = containers("two-sparks");
    inits::json(&lab, &NODES, &cluster);
    let cut_nodes = cut_nodes(&lab, &cluster, &NODES);
    let mut jobs = cuts::jobs(&cut_nodes[0].edges, KILLED.cuts);
    jobs.truncate(SAMPLE);
    take_turns(&cut_nodes, jobs, |_, _| {});
}
