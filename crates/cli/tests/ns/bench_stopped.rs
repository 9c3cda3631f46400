//! `crosstie bench` with a peer that stands still in the middle of a test: docs/bench.md promises an error after 3 seconds of
//! silence.
//!
//! Needs root, and Debian's `iproute2`.

use std::{
    io::{BufRead, BufReader, Read},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::common::{
    namespace::{Namespace, cabled_pair},
    sshd::{crosstie, prepared},
};

/// 3 s of silence, 2 s for the other end's word, 2 s for its agent's, and a busy machine.
const STOP_TIMEOUT: Duration = Duration::from_secs(15);

/// What the peer's processes are when it stands still.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stopped {
    /// What measures.
    Worker,
    /// All of them, as on a machine that hangs.
    Everything,
}

struct Ended {
    document: Value,
    code: Option<i32>,
    /// From when the peer was stopped until the test in which that happened was over.
    test_took: Duration,
    tests_begun: usize,
}

fn pids(node: &Namespace) -> Vec<Pid> {
    let listed = crate::common::namespace::ip(&format!("netns pids {}", node.0));
    let pids = listed.split_whitespace().filter_map(|pid| pid.parse().ok());
    pids.filter_map(Pid::from_raw).collect()
}

fn is_worker(pid: Pid) -> bool {
    let line = std::fs::read(format!("/proc/{}/cmdline", pid.as_raw_pid())).unwrap_or_default();
    line.split(|byte| *byte == 0).any(|word| word == b"worker")
}

fn received(node: &Namespace) -> u64 {
    let shown: Value = serde_json::from_str(&node.ip("-j -s link show dev rail0")).unwrap();
    shown[0]["stats64"]["rx"]["bytes"].as_u64().unwrap_or(0)
}

/// Runs every test of a rail and stops the second node's processes in the first of them.
fn bench_with_a_stop(nodes: &[Namespace; 2], stopped: Stopped) -> Ended {
    let mut child = Command::new(crosstie())
        .args(["bench", "--tcp", "--seconds", "1", "-P", "1", "--json"])
        .args(nodes.each_ref().map(|node| format!("netns:{}", node.0)))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let reader = thread::spawn(move || {
        let mut text = String::new();
        stdout.read_to_string(&mut text).unwrap();
        text
    });
    let (mut stopped_at, mut test_took, mut tests_begun) = (None, None, 0);
    for line in BufReader::new(child.stderr.take().unwrap()).lines() {
        if !line.unwrap().contains("(deadline ") {
            continue;
        }
        tests_begun += 1;
        match stopped_at {
            None => {
                let before = received(&nodes[1]);
                prepared("bytes are moved", || {
                    received(&nodes[1]) > before + (4 << 20)
                });
                for pid in pids(&nodes[1]) {
                    if stopped == Stopped::Everything || is_worker(pid) {
                        kill_process(pid, Signal::STOP).unwrap();
                    }
                }
                stopped_at = Some(Instant::now());
            }
            Some(at) => {
                test_took.get_or_insert(at.elapsed());
            }
        }
    }
    let status = child.wait().unwrap();
    let at = stopped_at.expect("nothing was measured");
    let test_took = test_took.unwrap_or_else(|| at.elapsed());
    for pid in pids(&nodes[1]) {
        let _ = kill_process(pid, Signal::KILL);
    }
    let text = reader.join().unwrap();
    Ended {
        document: serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text}")),
        code: status.code(),
        test_took,
        tests_begun,
    }
}

fn why(cell: &Value) -> &str {
    let why = cell["not_measured"].as_str();
    why.unwrap_or_else(|| panic!("{cell:#}"))
}

#[test]
fn ns_a_stopped_worker_ends_its_test_in_seconds_and_the_rest_is_measured() {
    let nodes = cabled_pair("bench-stop");
    let ended = bench_with_a_stop(&nodes, Stopped::Worker);
    assert!(ended.test_took < STOP_TIMEOUT, "{:?}", ended.test_took);
    assert_eq!(ended.code, Some(2));
    let rail = &ended.document["tcp"]["rails"][0];
    let why = why(&rail["one_stream"]["there"]);
    let [a, b] = nodes.each_ref().map(|node| format!("netns:{}", node.0));
    assert!(why.contains(&format!("{a} with {b}: ")), "{why}");
    assert!(why.contains("for 3s"), "{why}");
    let stands_still = format!("{b}: its end of the test stands still, and was ended");
    assert!(why.contains(&stands_still), "{why}");
    assert!(
        rail["one_stream"]["back"]["measured"]["gbps"].is_number(),
        "{rail:#}"
    );
}

#[test]
fn ns_a_node_that_hangs_ends_its_test_in_seconds_and_nothing_else_is_begun() {
    let nodes = cabled_pair("bench-hang");
    let ended = bench_with_a_stop(&nodes, Stopped::Everything);
    assert!(ended.test_took < STOP_TIMEOUT, "{:?}", ended.test_took);
    assert_eq!((ended.code, ended.tests_begun), (Some(2), 1));
    let rail = &ended.document["tcp"]["rails"][0];
    let why = why(&rail["one_stream"]["there"]);
    assert!(why.contains("for 3s"), "{why}");
    assert!(why.contains(&format!("{}: no answer", nodes[1].0)), "{why}");
}
