//! `crosstie init` over a real sshd, as far as it goes without RDMA.

use std::process::{Command, Output, Stdio};

use crate::common::sshd::{self, NodeSetup, SshNodes};

fn init(place: &SshNodes, nodes: &[&str]) -> Output {
    Command::new(sshd::crosstie())
        .arg("init")
        .args(nodes)
        .arg("-o")
        .arg(place.path("cluster.toml"))
        .arg("--ssh-config")
        .arg(place.path("ssh_config"))
        .env("HOME", place.path("."))
        .env_remove("SSH_AUTH_SOCK")
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn complaint(place: &SshNodes, nodes: &[&str]) -> String {
    let output = init(place, nodes);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(!place.path("cluster.toml").exists());
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn ns_init_says_where_root_is_missing_and_which_nodes_are_one() {
    let mut place = SshNodes::new();
    for (name, sudo) in [
        ("with", "alice ALL=(ALL) NOPASSWD: ALL"),
        ("without", "alice ALL=(ALL) NOPASSWD: /usr/bin/true"),
    ] {
        let furnish = NodeSetup {
            sudo,
            ..NodeSetup::default()
        };
        place.node(name, &furnish);
    }
    let said = complaint(&place, &["with", "without"]);
    assert!(
        said.contains("without: finding out the cabling takes root"),
        "{said}"
    );
    assert!(!said.contains("with: "), "{said}");
    // Both of these are the machine that the test runs on.
    let said = complaint(&place, &["with", "."]);
    assert!(said.contains("both call themselves"), "{said}");
    let said = complaint(&place, &["with"]);
    assert!(said.contains("no node has an RDMA port"), "{said}");
}
