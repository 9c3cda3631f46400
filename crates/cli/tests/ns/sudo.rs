//! Reading as root, by a real sudo that has rules and a user of its own.

use std::{
    fs,
    os::unix::fs::{MetadataExt, chown},
};

use serde_json::Value;

use crate::common::sshd::{Furnish, PASSWORD, Place, typed};

const WITH_PASSWORD: &str = "alice ALL=(ALL) ALL";
const WITHOUT: &str = "alice ALL=(ALL) NOPASSWD: ALL";

fn place(sudo: &'static str) -> Place {
    let mut place = Place::new();
    let furnish = Furnish {
        sudo,
        ..Furnish::default()
    };
    place.node("node", &furnish);
    place
}

/// The user that the agent ran as, and why it was not root.
fn scanned(node: &Value) -> (String, String) {
    assert!(node["error"].is_null(), "{node:#}");
    let unread = node["unread"].as_array().unwrap();
    let denied = unread.iter().any(|gap| gap["root_would"] == true);
    let why = unread
        .iter()
        .find(|gap| gap["what"] == "what only root may read")
        .and_then(|gap| gap["why"].as_str());
    let user = if denied { "alice" } else { "root" };
    (user.to_owned(), why.unwrap_or_default().to_owned())
}

fn with_password(place: &Place, password: &str) -> (String, String) {
    let mut command = place.scan(&["node", "--json", "--sudo", "--become-password-fd", "0"]);
    command.stdin(typed(password));
    let output = command.output().unwrap();
    let nodes: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    let all = [output.stdout, output.stderr].concat();
    assert!(!String::from_utf8_lossy(&all).contains(password));
    scanned(&nodes[0])
}

#[test]
fn ns_sudo_without_a_password_is_enough() {
    let place = place(WITHOUT);
    let (nodes, _) = place.json(&["node"]);
    assert_eq!(scanned(&nodes[0]), ("alice".into(), String::new()));
    let (nodes, _) = place.json(&["node", "--sudo"]);
    assert_eq!(scanned(&nodes[0]), ("root".into(), String::new()));
    let folder = place.path("var-node/crosstie/bin");
    let files: Vec<_> = fs::read_dir(&folder).unwrap().map(Result::unwrap).collect();
    assert_eq!(files.len(), 1);
    for path in [
        files[0].path(),
        folder.clone(),
        place.path("var-node/crosstie"),
    ] {
        let found = fs::metadata(&path).unwrap();
        assert_eq!(
            (found.uid(), found.gid(), found.mode() & 0o7777),
            (0, 0, 0o755),
            "{path:?}"
        );
    }
    // One that the user could have written is not run.
    chown(&folder, Some(4242), None).unwrap();
    let (nodes, _) = place.json(&["node", "--sudo"]);
    let error = nodes[0]["error"].as_str().unwrap_or_default();
    assert!(
        error.contains("belongs to somebody else than root"),
        "{error}"
    );
}

#[test]
fn ns_this_machine_is_read_as_root_too() {
    let place = place(WITHOUT);
    assert!(place.json(&["node"]).1.status.success());
    let scan = |options: &str| {
        let line =
            format!("for agent in .cache/crosstie/bin/*; do $agent scan --json {options}; done");
        let output = place.ssh("node", &line);
        let nodes: Vec<Value> = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {output:?}"));
        scanned(&nodes[0])
    };
    assert_eq!(scan(""), ("alice".into(), String::new()));
    assert_eq!(scan("--sudo"), ("root".into(), String::new()));
    assert!(place.path("var-node/crosstie/bin").exists());
}

#[test]
fn ns_sudo_gets_its_password() {
    let place = place(WITH_PASSWORD);
    assert_eq!(
        with_password(&place, PASSWORD),
        ("root".into(), String::new())
    );
    let (user, why) = with_password(&place, "wrong horse");
    assert_eq!(user, "alice");
    assert!(why.contains("did not accept the password"), "{why}");
    let (nodes, _) = place.json(&["node", "--sudo"]);
    let (user, why) = scanned(&nodes[0]);
    assert_eq!(user, "alice");
    assert!(why.contains("--become-password-fd"), "{why}");
}

#[test]
fn ns_a_node_where_sudo_is_refused_is_scanned_all_the_same() {
    let place = place("alice ALL=(ALL) NOPASSWD: /usr/bin/true");
    let (user, why) = with_password(&place, PASSWORD);
    assert_eq!(user, "alice");
    assert!(why.contains("not allowed to execute '/bin/sh"), "{why}");
}
