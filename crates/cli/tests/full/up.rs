//! `crosstie up` on every kind of lab, through a boot; and killed at any moment, then run again.

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{ExitStatus, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use crosstie_lab::Lab;

use crate::common::{
    changes::{is_reachable, reboot},
    lab::machines,
    ups::{all_answer, assert_up, nodes, up},
};

fn comes_up_and_stays(profile: &str) {
    let directory = tempfile::tempdir().unwrap();
    let lab = machines(profile);
    assert_up(&up(&lab, directory.path()).output().unwrap());
    all_answer(&lab);
    reboot(&lab, &nodes(&lab));
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
const UNREACHABLE_TIMEOUT: Duration = Duration::from_secs(120 + 30);

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

/// Seconds after a stage has ended, or after the start: so that a fast machine and a slow one are both met in the middle
/// of it.
const MOMENTS: [(Option<&str>, u64); 9] = [
    (None, 5),
    (Some("scan"), 6),
    (Some("plan"), 1),
    (Some("plan"), 5),
    (Some("plan"), 10),
    (Some("plan"), 18),
    (Some("plan"), 27),
    (Some("plan"), 36),
    (Some("apply"), 0),
];

/// How it ended, and what it had said by then.
fn kill_in_between(
    lab: &Lab,
    directory: &Path,
    (stage, seconds): (Option<&str>, u64),
) -> (ExitStatus, Vec<String>) {
    let mut child = up(lab, directory).stdout(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut said = Vec::new();
    if let Some(stage) = stage {
        while !said
            .last()
            .is_some_and(|line: &String| line.starts_with(stage))
        {
            let Some(line) = lines.next() else {
                panic!("it did not come past {stage}: {said:#?}");
            };
            said.push(line.unwrap());
        }
    }
    thread::sleep(Duration::from_secs(seconds));
    child.kill().unwrap();
    let status = child.wait().unwrap();
    said.extend(lines.map_while(Result::ok));
    (status, said)
}

/// In the middle of every stage that takes time, then once to its end.
#[test]
fn full_up_killed_and_run_again() {
    let directory = tempfile::tempdir().unwrap();
    let lab = machines("two-sparks");
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let silences =
            ["spark-a", "spark-b"].map(|node| scope.spawn(|| longest_silence(&lab, node, &over)));
        for moment in MOMENTS {
            let (status, said) = kill_in_between(&lab, directory.path(), moment);
            println!("{moment:?}: {status}, {:?}", said.last());
        }
        let last = up(&lab, directory.path()).output().unwrap();
        over.store(true, Ordering::Relaxed);
        for silence in silences {
            let silence = silence.join().unwrap();
            println!("silent for {:.0} s at the most", silence.as_secs_f64());
            assert!(silence < UNREACHABLE_TIMEOUT, "{silence:?}");
        }
        assert_up(&last);
    });
    all_answer(&lab);
}
