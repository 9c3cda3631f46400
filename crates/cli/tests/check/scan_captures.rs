//! `crosstie scan` on the sample nodes, as a person and as a program would run it.

use std::process::Command;

use serde_json::Value;

use crate::common::command;

fn crosstie(arguments: &[&str]) -> (i32, String, String) {
    command::crosstie("nodes", arguments)
}

fn scan_json() -> Vec<Value> {
    let (code, stdout, _) = crosstie(&["scan", "--from", ".", "--json"]);
    assert_eq!(code, 0);
    serde_json::from_str(&stdout).unwrap()
}

fn node<'a>(nodes: &'a [Value], host: &str) -> &'a Value {
    nodes.iter().find(|node| node["host"] == host).unwrap()
}

#[test]
fn a_spark_with_one_cable_has_two_cages_and_one_is_active() {
    let nodes = scan_json();
    let spark = node(&nodes, "spark-a");
    let cages = spark["cages"].as_array().unwrap();
    assert_eq!(cages.len(), 2);
    let active: Vec<&Value> = cages.iter().filter(|cage| cage["active"] == true).collect();
    assert_eq!(active.len(), 1);
    assert_eq!(
        active[0]["members"],
        serde_json::json!(["rocep1s0f1", "roceP2p1s0f1"])
    );
    let ceiling = active[0]["ceiling_gbps"].as_f64().unwrap();
    assert!((190.0..=200.0).contains(&ceiling), "{ceiling}");
    assert_eq!(active[0]["limit"], "port-rate");
    for name in ["rocep1s0f1", "roceP2p1s0f1"] {
        let port = spark["rdma"]
            .as_array()
            .unwrap()
            .iter()
            .find(|port| port["name"] == name)
            .unwrap();
        let gbps = port["pcie"]["gbps"].as_f64().unwrap();
        assert!((112.0..=113.0).contains(&gbps), "{name}: {gbps}");
        assert_eq!(port["limit"], "pcie");
    }
    assert_eq!(spark["management"], serde_json::json!(["enP7s7"]));
}

#[test]
fn a_workstation_has_one_active_port_at_its_rate() {
    let nodes = scan_json();
    let workstation = node(&nodes, "work-b");
    let active: Vec<&Value> = workstation["cages"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|cage| cage["active"] == true)
        .collect();
    assert_eq!(active.len(), 1);
    let ceiling = active[0]["ceiling_gbps"].as_f64().unwrap();
    assert!((97.0..=99.0).contains(&ceiling), "{ceiling}");
    assert_eq!(workstation["management"], serde_json::json!(["eno2np1"]));
}

#[test]
fn what_a_person_sees_of_the_sample_nodes() {
    let (code, stdout, stderr) = crosstie(&["scan", "--from", "."]);
    assert_eq!((code, stderr.as_str()), (0, ""));
    insta::assert_snapshot!(stdout);
}

#[test]
fn what_a_program_gets_of_the_sample_nodes() {
    let (_, stdout, _) = crosstie(&["scan", "--from", "workstation-cx5-healthy", "--json"]);
    insta::assert_snapshot!(stdout);
}

#[test]
fn the_published_schema_is_current_and_holds() {
    let schema = command::Schema::published("scan");
    schema.allows(&Value::Array(scan_json())).unwrap();
    let wrong = serde_json::json!([{"host": 7}]);
    assert!(schema.allows(&wrong).is_err());
}

#[test]
fn one_bad_capture_holds_up_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let good = command::fixtures().join("nodes/workstation-cx5-healthy");
    std::os::unix::fs::symlink(good.canonicalize().unwrap(), folder.path().join("unused")).unwrap();
    std::fs::write(folder.path().join("bad.tar.gz"), b"not an archive").unwrap();
    let status = Command::new("cp")
        .args([
            "-a",
            good.to_str().unwrap(),
            folder.path().join("good").to_str().unwrap(),
        ])
        .status()
        .unwrap();
    assert!(status.success());
    let (code, stdout, _) =
        crosstie(&["scan", "--json", "--from", folder.path().to_str().unwrap()]);
    assert_eq!(code, 2);
    let nodes: Vec<Value> = serde_json::from_str(&stdout).unwrap();
    assert_eq!(nodes.len(), 2, "{stdout}");
    assert!(
        nodes[0]["error"].as_str().unwrap().contains("gzip"),
        "{stdout}"
    );
    assert_eq!(nodes[1]["host"], "work-b");
}

#[test]
fn mistakes_are_answered_with_what_to_do() {
    let cases: [(&[&str], &str); 4] = [
        (&["scan", "--from", "nowhere"], "nowhere"),
        (&["scan", "--", "-oProxyCommand=x"], "starts with a dash"),
        (
            &["scan", "--cluster", "nowhere.toml", "--from", "."],
            "nowhere.toml",
        ),
        (&["scann"], "scan"),
    ];
    for (arguments, expected) in cases {
        let (code, stdout, stderr) = crosstie(arguments);
        assert_eq!((code, stdout.as_str()), (2, ""), "{arguments:?}");
        assert!(stderr.contains(expected), "{arguments:?}: {stderr}");
    }
}

#[test]
fn completions_and_manual_pages_come_out() {
    for shell in ["bash", "zsh", "fish"] {
        let (code, stdout, _) = crosstie(&["completions", shell]);
        assert!(code == 0 && stdout.contains("crosstie"), "{shell}");
    }
    let (code, page, _) = crosstie(&["man"]);
    assert!(
        code == 0 && page.starts_with(".ie") && page.contains("scan"),
        "{page}"
    );
    let folder = tempfile::tempdir().unwrap();
    let (code, ..) = crosstie(&["man", "--out", folder.path().to_str().unwrap()]);
    assert_eq!(code, 0);
    assert!(folder.path().join("crosstie-scan.1").exists());
}
