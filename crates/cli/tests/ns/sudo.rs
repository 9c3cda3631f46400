//! Reading as root, by a real sudo that has rules and a user of its own.

use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt, chown},
    path::Path,
};

use crosstie_model::{Facts, Reading};
use serde_json::Value;

use crate::common::sshd::{NodeSetup, PASSWORD, SshNodes, USER, typed};

const WITH_PASSWORD: &str = "alice ALL=(ALL) ALL";
const WITHOUT: &str = "alice ALL=(ALL) NOPASSWD: ALL";

fn place(sudo: &'static str) -> SshNodes {
    let mut place = SshNodes::new();
    let furnish = NodeSetup {
        sudo,
        ..NodeSetup::default()
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

fn with_password(place: &SshNodes, password: &str) -> (String, String) {
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

fn takes_the_right_password_alone(place: &SshNodes) {
    assert_eq!(
        with_password(place, PASSWORD),
        ("root".into(), String::new())
    );
    let (user, why) = with_password(place, "wrong horse");
    assert_eq!(user, "alice");
    assert!(why.contains("did not accept the password"), "{why}");
}

#[test]
fn ns_sudo_gets_its_password() {
    let place = place(WITH_PASSWORD);
    takes_the_right_password_alone(&place);
    let (nodes, _) = place.json(&["node", "--sudo"]);
    let (user, why) = scanned(&nodes[0]);
    assert_eq!(user, "alice");
    assert!(why.contains("--become-password-fd"), "{why}");
}

/// The texts of sudo-rs 0.2 (src/common/error.rs, src/sudo/pam.rs, src/pam/converse.rs there), before the sudo of this
/// machine, which has a rule without a password then.
const SUDO_RS: &str = r#"#!/bin/sh
case $1 in
-n)
    echo 'sudo: interactive authentication is required' >&2
    exit 1
    ;;
-S)
    prompt=$3
    shift 3
    for try in 1 2 3; do
        printf '[sudo: %s] Password: ' "$prompt" >&2
        read -r password || break
        [ "$password" != 'correct horse' ] || exec /run/sudo -n "$@"
        [ "$try" = 3 ] || echo 'sudo: Authentication failed, try again.' >&2
    done
    echo 'sudo: maximum 3 incorrect authentication attempts' >&2
    exit 1
    ;;
*)
    echo 'sudo: invalid option provided' >&2
    exit 1
    ;;
esac
"#;

#[test]
fn ns_sudo_rs_gets_its_password_too() {
    let mut place = SshNodes::new();
    let program = place.path("home-node-sudo");
    fs::write(&program, SUDO_RS).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let furnish = NodeSetup {
        sudo: WITHOUT,
        mounts: "cp -p /usr/bin/sudo /run/sudo; mount --bind $HOME-sudo /usr/bin/sudo",
        ..NodeSetup::default()
    };
    place.node("node", &furnish);
    takes_the_right_password_alone(&place);
}

/// What a plan is made from as a user holds for root, who carries it out, as long as the user could read it.
#[test]
fn ns_a_plan_made_without_root_is_not_stale_for_root() {
    let place = place(WITHOUT);
    let basis = |options: &[&str]| {
        let (nodes, _) = place.json(&[&["node", "--facts"], options].concat());
        assert_eq!(nodes[0]["error"], Value::Null);
        let facts: Facts = serde_json::from_value(nodes[0]["facts"].clone()).unwrap();
        (crosstie_plan::basis(&facts), facts.system.root)
    };
    let (user, is_root) = basis(&[]);
    assert_eq!(is_root, Reading::Value(false));
    let (root, is_root) = basis(&["--sudo"]);
    assert_eq!(is_root, Reading::Value(true));
    assert_eq!(crosstie_plan::changed(&root, &user), [""; 0]);
}

/// One that others could have written is not run.
#[test]
fn ns_an_agent_in_a_shared_folder_is_not_run() {
    let place = place(WITHOUT);
    assert!(place.json(&["node"]).1.status.success());
    let cache = place.nodes[0].cache();
    let agent = fs::read_dir(&cache)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let mode = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    for folder in [cache.as_path(), cache.parent().unwrap()] {
        for (owner, bits) in [(USER, 0o770), (USER, 0o777), (0, 0o755)] {
            chown(folder, Some(owner), None).unwrap();
            mode(folder, bits);
            let error = place.error("node");
            assert!(
                error.contains("does not belong to the user alone"),
                "{error}"
            );
            chown(folder, Some(USER), None).unwrap();
            mode(folder, 0o700);
        }
    }
    // In a folder of their own, an agent of somebody else's is replaced.
    chown(&agent, Some(4343), None).unwrap();
    assert!(place.json(&["node"]).1.status.success());
    assert_eq!(fs::metadata(&agent).unwrap().uid(), USER);
}

#[test]
fn ns_a_node_where_sudo_is_refused_is_scanned_all_the_same() {
    let place = place("alice ALL=(ALL) NOPASSWD: /usr/bin/true");
    let (user, why) = with_password(&place, PASSWORD);
    assert_eq!(user, "alice");
    assert!(why.contains("not allowed to execute '/bin/sh"), "{why}");
}
