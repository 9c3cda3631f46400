//! `crosstie try` on a real node: kept, refused, failed, and one that cuts the node off.

#![allow(clippy::print_stdout)] // how long a node was cut off is worth knowing

use std::{path::Path, time::Instant};

use crosstie_lab::Lab;

use crate::common::{
    changes::{json, run, same, shape, wait_for, wait_until_settled},
    inits,
    lab::{containers, sh},
};

const NODE: &str = "spark-a";
const ADD: &str = "ip address add 198.51.100.7/32 dev enp1s0f0np0";

struct Place<'a> {
    lab: &'a Lab,
    cluster: &'a Path,
    before: String,
}

impl Place<'_> {
    /// What it said, and whether all is well.
    fn tries(&self, options: &[&str], script: &str) -> (String, bool) {
        let command = [&["try"], options, &[NODE, "--", "sh", "-c", script]].concat();
        let output = run(self.lab, self.cluster, &command);
        let said = [&output.stdout[..], &output.stderr].concat();
        let said = String::from_utf8_lossy(&said).into_owned();
        (said, output.status.success())
    }

    /// It says so, and the node is what it was.
    fn is_undone(&self, options: &[&str], script: &str, words: &str) {
        let (said, well) = self.tries(options, script);
        assert!(!well && said.contains(words), "{script}: {said}");
        wait_for(self.lab, NODE);
        wait_until_settled(self.lab, NODE);
        same(script, &self.before, &shape(self.lab, NODE));
    }
}

#[test]
fn try_keeps_what_works_and_was_wanted() {
    let directory = tempfile::tempdir().unwrap();
    let cluster = directory.path().join("cluster.toml");
    let lab = containers("two-sparks");
    inits::json(&lab, &[NODE, "spark-b"], &cluster);
    let place = Place {
        lab: &lab,
        cluster: &cluster,
        before: shape(&lab, NODE),
    };
    place.is_undone(&[], ADD, "there is no terminal to ask on");
    let fails = format!("{ADD}; echo changed >> /etc/issue; exit 3");
    let options = ["--yes", "--file", "/etc/issue"];
    place.is_undone(&options, &fails, "the command failed");

    let began = Instant::now();
    let cuts_off = "ip link set enP7s7 down";
    place.is_undone(&["--yes", "--for", "30s"], cuts_off, "spark-a");
    println!("cut off and back within {} s", began.elapsed().as_secs());

    let (said, well) = place.tries(&["--yes"], ADD);
    assert!(well && said.contains("confirmed"), "{said}");
    let shown = sh(&lab, NODE, "ip -o address show dev enp1s0f0np0");
    assert!(shown.contains("198.51.100.7"), "{shown}");
    json(&lab, &cluster, 0, &["rollback", NODE, "--yes"]);
    same(NODE, &place.before, &shape(&lab, NODE));
}
