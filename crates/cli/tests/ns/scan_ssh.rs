//! `crosstie scan` of nodes over a real ssh.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    time::{Duration, Instant},
};

use crate::common::sshd::{NodeSetup, SshNodes, crosstie, free_port};

#[test]
fn ns_nodes_are_scanned_and_keep_one_file() {
    let mut place = SshNodes::new();
    place.node("plain", &NodeSetup::default());
    let noise = "echo Welcome to the machine; printf 'no end of line'; echo oops >&2";
    place.node(
        "noisy",
        &NodeSetup {
            bashrc: noise,
            ..NodeSetup::default()
        },
    );
    let (nodes, output) = place.json(&["plain", ".", "noisy", "--facts"]);
    assert!(output.status.success(), "{output:?}");
    let hosts: Vec<_> = nodes.iter().map(|node| &node["host"]).collect();
    assert!(hosts.iter().all(|host| *host == hosts[1]), "{hosts:?}");
    let reached: Vec<_> = nodes.iter().map(|node| node["reached"].as_str()).collect();
    assert_eq!(reached, [Some("plain"), None, Some("noisy")]);
    // The same machine, seen by another user: its links are the same.
    assert_eq!(nodes[0]["interfaces"], nodes[2]["interfaces"]);

    let cache = place.path("home-noisy/.cache/crosstie/bin");
    let files: Vec<_> = fs::read_dir(&cache).unwrap().map(Result::unwrap).collect();
    assert_eq!(files.len(), 1);
    let binary = files[0].metadata().unwrap();
    assert_eq!(binary.mode() & 0o7777, 0o700);
    assert_eq!(binary.size(), fs::metadata(crosstie()).unwrap().size());
    let (_, output) = place.json(&["noisy"]);
    assert!(output.status.success());
    let capture = place.path("noisy.tar.gz");
    let kept = place
        .scan(&["noisy", "--capture", capture.to_str().unwrap()])
        .output()
        .unwrap();
    assert!(kept.status.success() && capture.exists(), "{kept:?}");
    let again = fs::metadata(files[0].path()).unwrap();
    assert_eq!(
        again.ino(),
        binary.ino(),
        "it was there and is not sent again"
    );
}

#[test]
fn ns_another_build_is_replaced() {
    let mut place = SshNodes::new();
    let cache = place.node("node", &NodeSetup::default()).cache();
    assert!(place.json(&["node"]).1.status.success());
    let file = fs::read_dir(&cache)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    // Anew: the agent of the first scan may still be on its way out, and a running program cannot be written to.
    fs::remove_file(&file).unwrap();
    fs::write(&file, "#!/bin/sh\necho an agent of another build\n").unwrap();
    assert!(place.json(&["node"]).1.status.success());
    assert_eq!(fs::read(&file).unwrap(), fs::read(crosstie()).unwrap());
}

#[test]
fn ns_host_keys_are_checked() {
    let mut place = SshNodes::new();
    let port = place.node("node", &NodeSetup::default()).port;
    let known = fs::read_to_string(place.path("known_hosts")).unwrap();
    let another = fs::read_to_string(place.path("id.pub")).unwrap();
    fs::write(
        place.path("known_hosts"),
        format!("[127.0.0.1]:{port} {another}"),
    )
    .unwrap();
    let error = place.error("node");
    assert!(
        error.contains("host key is not the one that is known"),
        "{error}"
    );
    let config = place.path("ssh_config").display().to_string();
    let login = format!("ssh -F {config} node");
    assert!(error.contains(&login), "{error}");
    fs::write(place.path("known_hosts"), "").unwrap();
    let error = place.error("node");
    assert!(error.contains("does not know its host key"), "{error}");
    assert_eq!(fs::read_to_string(place.path("known_hosts")).unwrap(), "");
    fs::write(place.path("known_hosts"), known).unwrap();
    assert!(place.json(&["node"]).1.status.success());
}

#[test]
fn ns_a_jump_host_is_passed() {
    let mut place = SshNodes::new();
    place.node("jump", &NodeSetup::default());
    let port = place.node("behind", &NodeSetup::default()).port;
    place.configure("far", port, "ProxyJump jump");
    let (nodes, output) = place.json(&["far"]);
    assert!(output.status.success(), "{nodes:#?}");
    assert_eq!(nodes[0]["reached"], "far");
    let log = fs::read_to_string(place.path("jump.log")).unwrap();
    assert!(log.contains("Accepted publickey for alice"), "{log}");
}

/// The first ssh leaves a master behind, which holds on to its standard error.
#[test]
fn ns_shared_connections_work() {
    let mut place = SshNodes::new();
    let port = place.node("node", &NodeSetup::default()).port;
    let socket = place.path("mux").display().to_string();
    let shared = format!("ControlMaster auto\nControlPersist 3\nControlPath {socket}");
    place.configure("shared", port, &shared);
    let started = Instant::now();
    for _ in 0..2 {
        let (nodes, output) = place.json(&["shared"]);
        assert!(output.status.success(), "{nodes:#?}");
        assert!(place.path("mux").exists());
    }
    assert!(started.elapsed() < Duration::from_secs(20));
}

#[test]
fn ns_ssh_says_what_to_do() {
    let mut place = SshNodes::new();
    let port = place.node("node", &NodeSetup::default()).port;
    place.configure("stranger", port, "");
    fs::write(place.path("ssh_config"), {
        let text = fs::read_to_string(place.path("ssh_config")).unwrap();
        text.replace("Host stranger\n", "Host stranger\nUser mallory\n")
    })
    .unwrap();
    place.configure("dead", free_port(), "");
    place.configure("nowhere", 22, "");
    let text = fs::read_to_string(place.path("ssh_config")).unwrap();
    let text = text.replace(
        "Host nowhere\n",
        "Host nowhere\nHostName no-such-host.invalid\n",
    );
    fs::write(place.path("ssh_config"), text).unwrap();
    let config = place.path("ssh_config").display().to_string();
    let trust = format!("`crosstie trust --ssh-config {config} stranger`");
    for (name, cure) in [
        ("stranger", trust.as_str()),
        ("dead", "is sshd running there"),
        ("nowhere", "check the spelling"),
    ] {
        let error = place.error(name);
        assert!(error.contains(cure), "{name}: {error}");
        assert!(!error.contains('\n'), "one line: {error}");
    }
    let refused = place.scan(&["--", "-oProxyCommand=true"]).output().unwrap();
    let complaint = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2));
    assert!(complaint.contains("starts with a dash"), "{complaint}");
}

#[test]
fn ns_what_a_disk_may_do_is_told() {
    let mut place = SshNodes::new();
    for (name, mounts) in [
        (
            "full",
            "mkdir $HOME/.cache; mount -t tmpfs -o size=1m,uid=4242 tmpfs $HOME/.cache",
        ),
        (
            "read-only",
            "mkdir $HOME/.cache; mount -t tmpfs -o ro tmpfs $HOME/.cache",
        ),
        (
            "noexec",
            "mkdir $HOME/.cache; mount -t tmpfs -o noexec,uid=4242 tmpfs $HOME/.cache",
        ),
    ] {
        let mounts = NodeSetup {
            mounts,
            ..NodeSetup::default()
        };
        place.node(name, &mounts);
    }
    for (name, expected) in [
        ("full", "no space left on its disk"),
        ("read-only", "Read-only file system"),
        ("noexec", "noexec"),
    ] {
        let error = place.error(name);
        assert!(error.contains(expected), "{name}: {error}");
    }
}
