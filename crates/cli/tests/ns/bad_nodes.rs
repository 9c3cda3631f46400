//! Nodes that are dead, slow, lying or cut off, beside good ones.

use std::{
    net::TcpListener,
    path::Path,
    process::{Child, Stdio},
    time::{Duration, Instant},
};

use crosstie_reach::{binary::build_of, protocol::MAGIC};
use rustix::process::{Pid, Signal, kill_process};

use crate::common::sshd::{
    NodeSetup, SshNodes, crosstie, eventually, free_port, parent, prepared, processes,
};

/// A program that collection waits for takes its time.
const SLOW: &str = "mkdir -p /run/systemd/system; printf '#!/bin/sh\\nsleep 30' >/run/slow; chmod 755 /run/slow; \
    mount --bind /run/slow /usr/bin/timedatectl";

#[test]
fn ns_bad_nodes_hold_up_nobody() {
    let mut place = SshNodes::new();
    place.node("good", &NodeSetup::default());
    place.node("better", &NodeSetup::default());
    // Accepts connections, and never says a word.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    place.configure("silent", silent.local_addr().unwrap().port(), "");
    place.configure("dead", free_port(), "");
    let hangs = NodeSetup {
        forced: Some("sleep 60".to_owned()),
        ..NodeSetup::default()
    };
    place.node("hangs", &hangs);
    let started = Instant::now();
    let names = ["good", "silent", "dead", ".", "hangs", "better"];
    let (nodes, output) = place.json(&[&names[..], &["--timeout", "20"]].concat());
    assert!(started.elapsed() < Duration::from_secs(45));
    assert_eq!(output.status.code(), Some(2));
    for (index, error) in [
        (0, None),
        (1, Some("did not answer")),
        (2, Some("refuses connections")),
        (3, None),
        (4, Some("within 20 s (while logging in)")),
        (5, None),
    ] {
        let node = &nodes[index];
        match (error, node["error"].as_str()) {
            (None, None) => assert!(node["interfaces"].is_array()),
            (Some(expected), Some(error)) => assert!(error.contains(expected), "{error}"),
            _ => panic!("{}: {node:#}", names[index]),
        }
    }
    let output = place.scan(&["good", "dead"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("dead  not scanned: it refuses connections"),
        "{text}"
    );
}

#[test]
fn ns_liars_are_found_out() {
    let mut place = SshNodes::new();
    let build = build_of(crosstie()).unwrap();
    let version = env!("CARGO_PKG_VERSION");
    let machine = rustix::system::uname();
    let machine = machine.machine().to_str().unwrap();
    let other = if machine == "aarch64" {
        "x86_64"
    } else {
        "aarch64"
    };
    // Speaks as the script does, then as an agent of this build; then says what it likes.
    let agent = format!(
        "echo; echo '{MAGIC} system Linux {machine} 0'; echo '{MAGIC} start'; echo '{MAGIC} agent {build} {version}'"
    );
    let lies = [
        (
            "junk",
            format!("{agent}; head -c 100000 /dev/zero; sleep 60"),
            "an empty frame",
        ),
        (
            "huge",
            format!("{agent}; printf '\\377\\377\\377\\377'; sleep 60"),
            "a frame of 4294967295 bytes",
        ),
        (
            "endless",
            format!("{agent}; exec yes"),
            "a frame of 2030729",
        ),
        (
            "nonsense",
            format!("{agent}; printf '\\0\\0\\0\\003\\001{{}}'; sleep 60"),
            "a message that cannot be read",
        ),
        (
            "wrong-call",
            format!("{agent}; printf '\\0\\0\\0\\011\\002\\0\\0\\0\\0\\0\\0\\0\\007'; sleep 60"),
            "call 7, which is not open",
        ),
        (
            "chatty",
            "exec yes Welcome".to_owned(),
            "more than 1024 KiB before the agent spoke",
        ),
        (
            "other-build",
            format!("echo; echo '{MAGIC} agent 00 {version}'; sleep 60"),
            "another build",
        ),
        (
            "odd",
            format!("echo; echo '{MAGIC} dance'; sleep 60"),
            "only another build",
        ),
        (
            "other-machine",
            format!("echo; echo '{MAGIC} system Linux {other} 1000'; sleep 60"),
            "--agent-dir",
        ),
        (
            "greedy",
            format!(
                "echo; echo '{MAGIC} system Linux {machine} 0'; while :; do echo '{MAGIC} need plain'; head -c {} >/dev/null; done",
                std::fs::metadata(crosstie()).unwrap().len()
            ),
            "asked for at the wrong time",
        ),
        (
            "other-kernel",
            format!("echo; echo '{MAGIC} system FreeBSD amd64 1000'; sleep 60"),
            "crosstie needs Linux",
        ),
        (
            "old",
            format!(
                "echo; echo '{MAGIC} start'; echo \"libc.so.6: version GLIBC_2.34 not found\" >&2; exit 1"
            ),
            "Ubuntu 22.04",
        ),
        (
            "gone",
            format!("{agent}; kill -9 $$"),
            "ended in the middle of a call",
        ),
    ];
    for (name, forced, _) in &lies {
        let forced = NodeSetup {
            forced: Some(forced.clone()),
            ..NodeSetup::default()
        };
        place.node(name, &forced);
    }
    let names: Vec<&str> = lies.iter().map(|(name, ..)| *name).collect();
    let started = Instant::now();
    let (nodes, _) = place.json(&names);
    assert!(started.elapsed() < Duration::from_secs(30));
    for ((name, _, expected), node) in lies.iter().zip(&nodes) {
        let error = node["error"].as_str().unwrap_or_default();
        assert!(error.contains(expected), "{name}: {node:#}");
    }
}

/// A scan of a node whose agent is in the middle of a call, and the agent.
fn in_the_middle(place: &mut SshNodes) -> (Child, i32) {
    let slow = NodeSetup {
        mounts: SLOW,
        ..NodeSetup::default()
    };
    let cache = place.node("slow", &slow).cache();
    let scan = place
        .scan(&["slow", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let agents = format!("{}/", cache.display());
    let waits = |agent: &i32| {
        let programs = processes("timedatectl");
        programs
            .into_iter()
            .any(|program| parent(program) == Some(*agent))
    };
    let busy = || processes(&agents).into_iter().find(waits);
    prepared("an agent that waits for a program", || busy().is_some());
    (scan, busy().unwrap())
}

#[test]
fn ns_an_agent_that_is_killed_is_missed_at_once() {
    let mut place = SshNodes::new();
    let (scan, agent) = in_the_middle(&mut place);
    kill_process(Pid::from_raw(agent).unwrap(), Signal::KILL).unwrap();
    let output = scan.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("the agent ended in the middle of a call"),
        "{text}"
    );
}

#[test]
fn ns_an_agent_that_stands_still_is_given_up() {
    let mut place = SshNodes::new();
    let (scan, agent) = in_the_middle(&mut place);
    let agent_process = Pid::from_raw(agent).unwrap();
    kill_process(agent_process, Signal::STOP).unwrap();
    let output = scan.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("it has not been heard of for 15 s"), "{text}");
    kill_process(agent_process, Signal::CONT).unwrap();
    eventually("the agent's end", || {
        !Path::new(&format!("/proc/{agent}")).exists()
    });
}

#[test]
fn ns_interrupting_leaves_nothing_behind() {
    let mut place = SshNodes::new();
    let (mut scan, agent) = in_the_middle(&mut place);
    let config = place.path("ssh_config").display().to_string();
    kill_process(Pid::from_child(&scan), Signal::INT).unwrap();
    let status = scan.wait().unwrap();
    assert_eq!(
        std::os::unix::process::ExitStatusExt::signal(&status),
        Some(2)
    );
    eventually("the agent's end", || {
        !Path::new(&format!("/proc/{agent}")).exists()
    });
    eventually("ssh's end", || processes(&config).is_empty());
    let home = place.path("home-slow").display().to_string();
    eventually("the end of what the agent ran", || {
        processes(&home).is_empty()
    });
}
