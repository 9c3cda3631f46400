//! A change from end to end on real nodes: made, in force after a boot, drifted from, rolled back to the last byte.

use crosstie_lab::Lab;

use crate::common::{
    changes::{answers, json, outcomes, reboot, same, shape},
    inits,
    lab::{containers, sh},
    ups::nodes,
};

fn all(lab: &Lab, outcome: &str) -> std::collections::BTreeMap<String, String> {
    let named = |node: &str| (node.to_owned(), outcome.to_owned());
    nodes(lab).into_iter().map(named).collect()
}

fn is_made_and_rolled_back(profile: &str) {
    let directory = tempfile::tempdir().unwrap();
    let cluster = directory.path().join("cluster.toml");
    let lab = containers(profile);
    let names = nodes(&lab);
    inits::json(&lab, &names, &cluster);
    let before: Vec<String> = names.iter().map(|node| shape(&lab, node)).collect();

    let changed = json(&lab, &cluster, 0, &["apply", "--yes"]);
    assert_eq!(outcomes(&changed), all(&lab, "confirmed"), "{changed:#}");
    let both_answer = || {
        answers(&lab, names[0], names[1]);
        answers(&lab, names[1], names[0]);
    };
    both_answer();
    let again = json(&lab, &cluster, 0, &["apply", "--yes"]);
    assert_eq!(outcomes(&again), all(&lab, "unchanged"), "{again:#}");

    reboot(&lab, &names);
    both_answer();
    let status = json(&lab, &cluster, 0, &["status"]);
    assert_eq!(status["nodes"].as_array().unwrap().len(), 2, "{status:#}");

    let file = "/etc/sysctl.d/90-crosstie.conf";
    let edit = format!("cp -p {file} /var/tmp; echo '# mine' >> {file}");
    sh(&lab, names[0], &edit);
    let drifted = json(&lab, &cluster, 1, &["status"]);
    assert!(drifted.to_string().contains(file), "{drifted:#}");
    sh(
        &lab,
        names[0],
        &format!("mv /var/tmp/90-crosstie.conf {file}"),
    );

    let back = json(&lab, &cluster, 0, &["rollback", "--yes"]);
    assert_eq!(outcomes(&back), all(&lab, "rolled-back"), "{back:#}");
    for (node, before) in names.iter().zip(&before) {
        same(node, before, &shape(&lab, node));
    }
}

#[test]
fn change_of_two_sparks() {
    is_made_and_rolled_back("two-sparks");
}

/// networkd beside `NetworkManager`, and a sudo that asks.
#[test]
fn change_of_a_spark_and_a_workstation() {
    is_made_and_rolled_back("spark-and-workstation");
}
