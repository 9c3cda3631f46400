//! `crosstie scan` on real kernels: Soft-RoCE, NetworkManager, sshd and sudo of the lab's two Sparks.

use std::{path::Path, process::Command, time::Duration};

use crosstie_lab::Lab;
use serde_json::Value;

use crate::common::{lab::sh, sshd::crosstie, ups::proven_two_sparks};

const NODES: [&str; 2] = ["spark-a", "spark-b"];

/// Scans nodes of the lab; the exit status and what was printed.
fn scan(lab: &Lab, cluster: &Path, arguments: &[&str]) -> (i32, Vec<Value>) {
    let output = Command::new(crosstie())
        .args(["scan", "--json", "--facts", "--cluster"])
        .arg(cluster)
        .arg("--ssh-config")
        .arg(lab.ssh_config())
        .args(arguments)
        .output()
        .unwrap();
    let nodes = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    (output.status.code().unwrap(), nodes)
}

#[test]
fn lab_scan_sees_what_the_kernel_has() {
    let proven = proven_two_sparks();
    let (lab, cluster) = (&proven.lab, &proven.cluster);

    let (code, nodes) = scan(lab, cluster, &["--sudo", NODES[0], NODES[1]]);
    assert_eq!(code, 0, "{nodes:#?}");
    for (node, name) in nodes.iter().zip(NODES) {
        assert_eq!(node["host"], name);
        assert_eq!(node["management"], serde_json::json!(["enP7s7"]));
        assert_eq!(node["cages"][0]["members"].as_array().unwrap().len(), 2);
        assert_eq!(node["cages"][0]["active"], true);
        assert_eq!(node["cages"][1]["active"], false);
        let management = node["interfaces"].as_array().unwrap().iter();
        let management = management
            .clone()
            .find(|interface| interface["name"] == "enP7s7")
            .unwrap();
        assert_eq!(management["manager"], "NetworkManager");
        assert_eq!(management["ssh"], true);
        for (device, netdev) in [
            ("rocep1s0f0", "enp1s0f0np0"),
            ("roceP2p1s0f0", "enP2p1s0f0np0"),
            ("rocep1s0f1", "enp1s0f1np1"),
            ("roceP2p1s0f1", "enP2p1s0f1np1"),
        ] {
            let ports = node["rdma"].as_array().unwrap();
            let port = ports.iter().find(|port| port["name"] == device).unwrap();
            assert_eq!(port["netdev"], netdev);
            assert_eq!(port["software"], true);
            assert_eq!(port["limit"], Value::Null);
        }
        queue_pairs_are_those_that_rdma_shows(lab, name, node);
        gids_are_those_of_sysfs(lab, name, node);
        gids_are_told_at_once(lab, name);
    }
}

/// By the kernel: sysfs has a thousand files a table.
fn gids_are_told_at_once(lab: &Lab, name: &str) {
    let script = "set -- /var/lib/crosstie/bin/*; \"$1\" -vv scan --json . 2>&1 >/dev/null";
    let told = sh(lab, name, script);
    assert!(told.contains("read a group of files"), "{told}");
    assert!(!told.contains("read from sysfs"), "{told}");
}

/// Ours are found by one question to the kernel, theirs by reading every place of the tables.
fn gids_are_those_of_sysfs(lab: &Lab, name: &str, node: &Value) {
    let script = "grep -Hrv '^0000:0000:0000:0000:0000:0000:0000:0000$' /sys/class/infiniband/*/ports/1/gids";
    let shown = sh(lab, name, script);
    let of_line = |line: &str| {
        let (path, gid) = line.split_once(':').unwrap();
        let parts: Vec<&str> = path.split('/').collect();
        (
            parts[4].to_owned(),
            parts[8].parse().unwrap(),
            gid.to_owned(),
        )
    };
    let mut theirs: Vec<(String, u64, String)> = shown.lines().map(of_line).collect();
    let ports = node["rdma"].as_array().unwrap().iter();
    let mut ours: Vec<(String, u64, String)> = ports
        .flat_map(|port| {
            let of_port = port["gids"].as_array().unwrap().iter();
            of_port.map(|gid| {
                let text = |value: &Value| value.as_str().unwrap().to_owned();
                (
                    text(&port["name"]),
                    gid["index"].as_u64().unwrap(),
                    text(&gid["gid"]),
                )
            })
        })
        .collect();
    theirs.sort();
    ours.sort();
    assert!(ours.len() >= 4, "one a device at least: {ours:?}");
    assert_eq!(ours, theirs);
}

/// Ours come from netlink, theirs from iproute2.
fn queue_pairs_are_those_that_rdma_shows(lab: &Lab, name: &str, node: &Value) {
    let shown = lab
        .exec_as_root(
            name,
            &["rdma", "-j", "resource", "show", "qp"],
            Duration::from_secs(60),
        )
        .unwrap();
    let theirs: Vec<Value> = serde_json::from_str(&shown.stdout).unwrap();
    let mut theirs: Vec<(String, u64, String)> = theirs
        .iter()
        .map(|pair| {
            let text = |key: &str| pair[key].as_str().unwrap().to_owned();
            (text("ifname"), pair["lqpn"].as_u64().unwrap(), text("type"))
        })
        .collect();
    let devices = node["facts"]["rdma"].as_array().unwrap();
    let mut ours: Vec<(String, u64, String)> = devices
        .iter()
        .flat_map(|device| {
            let pairs = device["queue_pairs"]["value"].as_array().unwrap().iter();
            pairs.map(|pair| {
                let kind = pair["kind"].as_str().unwrap().to_owned();
                (
                    device["name"].as_str().unwrap().to_owned(),
                    pair["number"].as_u64().unwrap(),
                    kind,
                )
            })
        })
        .collect();
    theirs.sort();
    ours.sort();
    assert!(!ours.is_empty());
    assert_eq!(ours, theirs);
}
