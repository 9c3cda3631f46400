//! Reading as root, by a real sudo that has rules and a user of its own.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test says what went wrong by panicking

mod sshd;

use std::{io::Write, os::fd::AsRawFd};

use serde_json::Value;
use sshd::{Furnish, PASSWORD, Place};

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
    let (reader, mut writer) = std::io::pipe().unwrap();
    writeln!(writer, "{password}").unwrap();
    drop(writer);
    // A descriptor above the three passes to a child unless it is closed on exec, which `sh` does not do.
    let mut command = place.scan(&["node", "--json", "--sudo", "--become-password-fd", "0"]);
    command.stdin(reader.try_clone().unwrap());
    assert!(reader.as_raw_fd() > 2);
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
    // Root's binary is not in the user's hands.
    assert!(!place.path("home-node/.cache/crosstie/bin/.new").exists());
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
    assert!(why.contains("not allowed") || why.contains("sudo"), "{why}");
}
