//! `crosstie init` on the lab's two Sparks: real kernels, Soft-RoCE, NetworkManager, sudo.

use std::{fs, path::Path, time::Duration};

use crosstie_lab::{Lab, hub::CableFault};
use crosstie_model::{Cable, ClusterSpec};
use serde_json::Value;

use crate::common::{
    changes,
    inits::{cables, init, json, notes},
    lab::containers,
    profiles::without_next,
};

const NODES: [&str; 2] = ["spark-a", "spark-b"];

/// Flags and addresses of the ports, but for those of the link alone: NetworkManager, which finds no DHCP server on a cable,
/// takes these away whenever it gives up. `ns/cabling.rs` compares them where nobody else is at work.
fn links(lab: &Lab) -> String {
    let command = "ip -o link | grep np; ip -o addr show scope global | grep np; true";
    let run = |node| lab.exec_as_root(node, &["sh", "-c", command], Duration::from_secs(60));
    let text = |node| {
        let shown = run(node).unwrap().stdout;
        let mut words: Vec<String> = shown.lines().map(str::to_owned).collect();
        words.sort();
        words.join("\n")
    };
    NODES.map(text).concat()
}

/// By the doctor, which knows from the cluster file that they are to be used.
fn bare_ports_are_named(lab: &Lab, cluster: &Path) {
    let output = changes::run(lab, cluster, &["doctor", "--json", "--sudo"]);
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    for node in found["nodes"].as_array().unwrap() {
        let mut findings = node["findings"].as_array().unwrap().iter();
        let named = findings.any(|finding| finding["id"] == "fabric-unaddressed");
        assert!(named, "{found:#}");
    }
}

#[test]
fn init_finds_the_cable_and_keeps_a_persons_file() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("cluster.toml");
    let lab = containers("two-sparks");
    let before = links(&lab);

    let found = json(&lab, &NODES, &file);
    assert_eq!(cables(&found), ["spark-a:p0 spark-b:p0"], "{found:#}");
    assert_eq!(found["nodes"][0]["cages"][0]["id"], "p0");
    assert_eq!(
        found["nodes"][0]["cages"][0]["interfaces"],
        serde_json::json!(["enp1s0f0np0", "enP2p1s0f0np0"])
    );
    assert_eq!(links(&lab), before, "links are as they were");
    let mut golden = found.clone();
    golden["file"] = "cluster.toml".into();
    insta::assert_json_snapshot!("json", golden);
    bare_ports_are_named(&lab, &file);
    let text = fs::read_to_string(&file).unwrap();
    let spec = ClusterSpec::from_toml(&text).unwrap();
    // The lab's own network is in 10.77.0.0/16.
    assert_eq!(spec.fabric.pool, Some("10.78.0.0/16".parse().unwrap()));
    assert!(matches!(
        spec.cables[..],
        [Cable::Direct {
            number: Some(1),
            ..
        }]
    ));
    assert_eq!(spec.qos, None);

    // A person's edit and comment stay.
    let edited = text.replace("mtu = 9000", "mtu = 4200 # until the new cable comes");
    assert_ne!(edited, text);
    fs::write(&file, &edited).unwrap();
    let shown = init(&lab, &NODES, &file, &[]);
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), edited);
    insta::assert_snapshot!(
        "drawing",
        without_next(&shown.replace(&*file.to_string_lossy(), "cluster.toml"))
    );

    // A cable that is cut is told, and stays in the file.
    lab.fault("spark-a:p0", CableFault::Cut).unwrap();
    let found = json(&lab, &NODES, &file);
    assert_eq!(cables(&found), [""; 0]);
    assert_eq!(
        notes(&found, &["gone"]),
        ["gone spark-a:p0 spark-b:p0"],
        "{found:#}"
    );
    let all = found["notes"].to_string();
    assert!(all.contains("dead or unplugged"), "{all}");
    assert_eq!(fs::read_to_string(&file).unwrap(), edited);
}
