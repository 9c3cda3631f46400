//! One cause, not ten findings: cables that are cut, a node without power, an MTU that somebody changed.

use std::path::Path;

use crosstie_lab::{Lab, hub::CableFault};
use serde_json::Value;
use tempfile::TempDir;

use crate::common::{
    changes::{json, run},
    inits,
    lab::{containers, sh},
    ups::nodes,
};

/// A lab has no way out, and so no time service; and ports that are files have GIDs that do not follow addresses.
const DOCTOR: [&str; 6] = [
    "doctor",
    "--sudo",
    "--interval",
    "0",
    "--skip",
    "clock-unsynchronised,gid-v2-missing",
];

fn applied(lab: &Lab) -> (TempDir, std::path::PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let cluster = directory.path().join("cluster.toml");
    inits::json(lab, &nodes(lab), &cluster);
    json(lab, &cluster, 0, &["apply", "--yes"]);
    let clean = json(lab, &cluster, 0, &DOCTOR);
    assert_eq!(all(&clean), [""; 0], "{clean:#}");
    (directory, cluster)
}

/// `HOST ID SUBJECT` of every fault and warning that is meant.
fn lines(diagnosis: &Value, is_meant: impl Fn(&Value) -> bool) -> Vec<String> {
    let none = Vec::new();
    let list = |findings: &Value, host: &str| -> Vec<String> {
        let findings = findings.as_array().unwrap_or(&none).iter();
        let alarms = findings.filter(|finding| finding["severity"] != "info" && is_meant(finding));
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        alarms
            .map(|finding| {
                let (id, subject) = (text(&finding["id"]), text(&finding["subject"]));
                format!("{host} {id} {subject}")
            })
            .collect()
    };
    let nodes = diagnosis["nodes"].as_array().unwrap().iter();
    let mut lines: Vec<String> = nodes
        .flat_map(|node| list(&node["findings"], node["host"].as_str().unwrap()))
        .collect();
    lines.extend(list(&diagnosis["cluster"], "cluster"));
    lines.sort();
    lines
}

fn all(diagnosis: &Value) -> Vec<String> {
    lines(diagnosis, |_| true)
}

fn roots(diagnosis: &Value) -> Vec<String> {
    lines(diagnosis, |finding| finding.get("caused_by").is_none())
}

/// Every consequence names a finding that is there.
fn assert_causes_are_there(diagnosis: &Value) {
    let found = all(diagnosis);
    let nodes = diagnosis["nodes"].as_array().unwrap().iter();
    let lists = nodes
        .map(|node| &node["findings"])
        .chain([&diagnosis["cluster"]]);
    let findings = lists.flat_map(|list| list.as_array().unwrap());
    for cause in findings.filter_map(|finding| finding.get("caused_by")) {
        let host = cause["host"].as_str().unwrap_or("cluster");
        let (id, subject) = (&cause["id"], &cause["subject"]);
        let line = format!(
            "{host} {} {}",
            id.as_str().unwrap(),
            subject.as_str().unwrap()
        );
        assert!(found.contains(&line), "{line} is not in {found:#?}");
    }
}

/// Until the nodes have seen what was done to them.
fn once(lab: &Lab, cluster: &Path, code: i32, wanted: &[&str]) -> Value {
    let mut last = Value::Null;
    for _ in 0..10 {
        last = json(lab, cluster, code, &DOCTOR);
        if roots(&last) == wanted {
            break;
        }
    }
    assert_eq!(roots(&last), wanted, "{last:#}");
    assert_causes_are_there(&last);
    last
}

fn screen(lab: &Lab, cluster: &Path) -> String {
    let output = run(lab, cluster, &DOCTOR);
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn doctor_names_the_cable_that_was_cut() {
    let lab = containers("two-sparks");
    let (_directory, cluster) = applied(&lab);
    lab.fault("spark-a:p0", CableFault::Cut).unwrap();
    let cable = "cluster cable-dead spark-a:p0 – spark-b:p0";
    let found = once(&lab, &cluster, 1, &[cable]);
    // Ports that are down and devices that NCCL would miss, at both ends.
    for id in ["fabric-port-down", "nccl-hca-down"] {
        let count = all(&found).iter().filter(|line| line.contains(id)).count();
        assert_eq!(count, 4, "{found:#}");
    }
    let text = screen(&lab, &cluster);
    assert!(text.lines().count() < 24, "{text}");
    assert!(text.contains("on 2 nodes; --all shows them"), "{text}");
    println!("{text}");
}

#[test]
fn doctor_tells_two_causes_apart_on_a_ring() {
    let lab = containers("three-ring");
    let (_directory, cluster) = applied(&lab);
    lab.fault("ring-a:p1", CableFault::Cut).unwrap();
    sh(&lab, "ring-c", "ip link set enp1s0f1np1 mtu 1500");
    let found = once(
        &lab,
        &cluster,
        1,
        &[
            "cluster cable-dead ring-a:p1 – ring-b:p0",
            "ring-c mtu-small enp1s0f1np1",
        ],
    );
    let mismatch = "cluster mtu-mismatch ring-a:p0 – ring-c:p1";
    let crossed = "cluster mtu-mismatch ring-c:p1 – ring-a:p0";
    let all = all(&found);
    let kept = |line: &str| all.iter().any(|found| found == line);
    assert!(kept(mismatch) || kept(crossed), "{all:#?}");
    println!("{}", screen(&lab, &cluster));
}

#[test]
fn doctor_names_the_node_that_is_off() {
    for (profile, node) in [("two-sparks", "spark-b"), ("three-ring", "ring-b")] {
        let lab = containers(profile);
        let (_directory, cluster) = applied(&lab);
        lab.kill(node).unwrap();
        let found = once(&lab, &cluster, 2, &[&format!("cluster node-off {node}")]);
        assert!(all(&found).len() > 4, "{found:#}");
        let text = screen(&lab, &cluster);
        assert!(text.contains(" examined: 1 fault"), "{text}");
        println!("{text}");
    }
}
