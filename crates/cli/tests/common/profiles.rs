//! What `crosstie init` and `crosstie plan` make of every kind of lab.

use std::path::Path;

use crosstie_lab::{Lab, profile::SegmentKind};
use serde_json::Value;

use super::{
    changes,
    inits::{cables, init, json},
    lab::containers,
    lint,
};

/// What the profile has, each segment's ends in order.
pub(crate) fn finds_the_profile(profile: &str) {
    let directory = tempfile::tempdir().unwrap();
    let lab = containers(profile);
    let nodes: Vec<&str> = lab
        .profile()
        .nodes
        .iter()
        .map(|node| node.name.as_str())
        .collect();
    let cluster = directory.path().join("cluster.toml");
    let found = json(&lab, &nodes, &cluster);
    let mut expected: Vec<String> = Vec::new();
    for segment in &lab.profile().segments {
        let mut ends: Vec<String> = segment.ends.iter().map(ToString::to_string).collect();
        ends.sort();
        match segment.kind {
            SegmentKind::Cable => expected.push(ends.join(" ")),
            SegmentKind::Switch => expected.extend(ends.iter().map(|end| format!("{end} plane-1"))),
        }
    }
    expected.sort();
    let mut actual = cables(&found);
    actual.sort();
    assert_eq!(actual, expected, "{found:#}");
    let problems = found["notes"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|note| note["problem"] == true);
    assert_eq!(problems.count(), 0, "{found:#}");
    keeps(&lab, profile, &nodes, &cluster, found);
    plans(&lab, &nodes, &cluster);
}

/// What programs get, and what a person sees of the same on the second run.
pub(crate) fn keeps(lab: &Lab, name: &str, nodes: &[&str], cluster: &Path, mut found: Value) {
    found["file"] = "cluster.toml".into();
    insta::assert_json_snapshot!(format!("{name}_json"), found);
    let shown = String::from_utf8(init(lab, nodes, cluster, &[]).stdout).unwrap();
    let shown = shown.replace(&*cluster.to_string_lossy(), "cluster.toml");
    insta::assert_snapshot!(format!("{name}_drawing"), without_next(&shown));
}

/// The command that is offered names this lab's files; `ns/containers/offered.rs` runs it.
pub(crate) fn without_next(shown: &str) -> &str {
    shown.split("\n\nNext: ").next().unwrap_or(shown)
}

/// Each node's files are taken by those who will read them.
fn plans(lab: &Lab, nodes: &[&str], cluster: &Path) {
    let out = cluster.with_file_name("plan");
    let planned = changes::run(
        lab,
        cluster,
        &["plan", "--sudo", "--out", out.to_str().unwrap()],
    );
    assert_eq!(planned.status.code(), Some(0), "{planned:?}");
    for node in nodes {
        let root = out.join(node);
        let managers = |root: &Path| {
            [lint::NETWORKD_UNITS, lint::CONNECTIONS].map(|made| lint::names(&root.join(made)))
        };
        assert_eq!(managers(&root), [Vec::<String>::new(), Vec::new()]);
        lint::netplan(&root);
        assert!(
            managers(&root).iter().any(|made| !made.is_empty()),
            "{node}"
        );
        lint::boot_unit(&root);
        lint::memory_lock_defaults(&root);
        lint::sysctl(&root);
        lint::nccl(&root);
    }
}
