//! Real nodes changed, and changed back: netplan, NetworkManager, systemd, sshd, and power that goes.

use serde_json::Value;

use crate::common::{
    changes::{json, outcomes, reboot, same, shape},
    lab::{machines, sh},
    ups::{all_answer, assert_up, up},
};

const NODES: [&str; 2] = ["spark-a", "spark-b"];

#[test]
fn lab_up_is_proven_survives_a_boot_and_goes_back() {
    let directory = tempfile::tempdir().unwrap();
    let cluster = directory.path().join("cluster.toml");
    let lab = machines("two-sparks");
    let before = NODES.map(|node| shape(&lab, node));

    let output = up(&lab, directory.path()).arg("--json").output().unwrap();
    assert_up(&output);
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    let all = |outcome: &str| {
        NODES
            .map(|node| (node.to_owned(), outcome.to_owned()))
            .into()
    };
    let changed = serde_json::json!({ "nodes": told["changes"] });
    assert_eq!(outcomes(&changed), all("confirmed"), "{told:#}");
    let status = json(&lab, &cluster, 0, &["status"]);
    assert_eq!(status["nodes"].as_array().unwrap().len(), 2, "{status:#}");
    all_answer(&lab);
    let again = json(&lab, &cluster, 0, &["apply", "--yes"]);
    assert_eq!(outcomes(&again), all("unchanged"), "{again:#}");

    reboot(&lab, &NODES);
    all_answer(&lab);

    let file = "/etc/sysctl.d/90-crosstie.conf";
    sh(
        &lab,
        "spark-a",
        &format!("cp -p {file} /var/tmp; echo '# mine' >> {file}"),
    );
    let drifted = json(&lab, &cluster, 1, &["status"]);
    assert!(drifted.to_string().contains(file), "{drifted:#}");
    sh(
        &lab,
        "spark-a",
        &format!("mv /var/tmp/90-crosstie.conf {file}"),
    );

    let back = json(&lab, &cluster, 0, &["rollback", "--yes"]);
    assert_eq!(outcomes(&back), all("rolled-back"), "{back:#}");
    for (node, before) in NODES.into_iter().zip(&before) {
        same(node, before, &shape(&lab, node));
    }
}
