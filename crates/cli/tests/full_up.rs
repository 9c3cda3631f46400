//! `crosstie up` on every kind of lab, through a boot; and killed at any moment, then run again.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test says what went wrong by panicking

mod changes;
mod inits;
mod lab;
mod sshd;

use std::{
    path::Path,
    process::{Command, Output, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use changes::{answers, is_reachable, reboot};
use crosstie_lab::{HubProgram, Lab, lease};
use sshd::{crosstie, typed};

fn up(lab: &Lab, directory: &Path) -> Command {
    let nodes = lab.profile().nodes.iter().map(|node| node.name.as_str());
    let mut command = Command::new(crosstie());
    command
        .arg("up")
        .args(nodes)
        .arg("-o")
        .arg(directory.join("cluster.toml"))
        .arg("--ssh-config")
        .arg(lab.ssh_config())
        .args(["--yes", "--become-password-fd", "0"])
        .env("XDG_STATE_HOME", directory)
        .stdin(typed(lab.password()))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn assert_up(output: &Output) {
    let said = [&output.stdout[..], &output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert_eq!(output.status.code(), Some(0), "{said}");
}

/// Every node reaches every other that it shares a cable or a switch with.
fn all_answer(lab: &Lab) {
    for segment in &lab.profile().segments {
        let nodes: Vec<&str> = segment.ends.iter().map(|end| end.node.as_str()).collect();
        for from in &nodes {
            for to in nodes.iter().filter(|to| *to != from) {
                answers(lab, from, to);
            }
        }
    }
}

fn comes_up_and_stays(profile: &str) {
    let directory = tempfile::tempdir().unwrap();
    let lab = lease(profile, HubProgram::crosstie(crosstie())).unwrap();
    assert_up(&up(&lab, directory.path()).output().unwrap());
    all_answer(&lab);
    let nodes = lab.profile().nodes.iter().map(|node| node.name.as_str());
    let nodes: Vec<&str> = nodes.collect();
    reboot(&lab, &nodes);
    all_answer(&lab);
}

#[test]
fn full_up_a_mixed_pair() {
    comes_up_and_stays("spark-and-workstation");
}

#[test]
fn full_up_a_ring() {
    comes_up_and_stays("three-ring");
}

#[test]
fn full_up_a_switch() {
    comes_up_and_stays("switch-four");
}

/// What `apply` gives a node, if nobody says otherwise, and what an emulated one needs to answer.
const UNREACHABLE: Duration = Duration::from_secs(120 + 30);

/// How long nobody could log in, at the worst.
fn longest_silence(lab: &Lab, node: &str, over: &AtomicBool) -> Duration {
    let (mut longest, mut heard) = (Duration::ZERO, Instant::now());
    while !over.load(Ordering::Relaxed) {
        if is_reachable(lab, node) {
            longest = longest.max(heard.elapsed());
            heard = Instant::now();
        }
        thread::sleep(Duration::from_secs(2));
    }
    longest.max(heard.elapsed())
}

/// At moments of its course, then once to its end.
#[test]
fn full_up_killed_and_run_again() {
    let directory = tempfile::tempdir().unwrap();
    let lab = lease("two-sparks", HubProgram::crosstie(crosstie())).unwrap();
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let silences =
            ["spark-a", "spark-b"].map(|node| scope.spawn(|| longest_silence(&lab, node, &over)));
        for seconds in [13, 47, 62, 81, 96, 118] {
            let mut child = up(&lab, directory.path()).spawn().unwrap();
            thread::sleep(Duration::from_secs(seconds));
            child.kill().unwrap();
            let output = child.wait_with_output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            println!("killed after {seconds} s: {:?}", said.lines().last());
        }
        let last = up(&lab, directory.path()).output().unwrap();
        over.store(true, Ordering::Relaxed);
        for silence in silences {
            let silence = silence.join().unwrap();
            println!("silent for {:.0} s at the most", silence.as_secs_f64());
            assert!(silence < UNREACHABLE, "{silence:?}");
        }
        assert_up(&last);
    });
    all_answer(&lab);
}
