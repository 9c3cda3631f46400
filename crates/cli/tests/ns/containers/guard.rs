//! The guard is on time: on a machine that was suspended, in a container, through `daemon-reload`, and when everybody who could
//! have confirmed is dead.

use std::{
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use crosstie_lab::Lab;

use rustix::process::{Pid, Signal, kill_process};

use crate::common::{
    changes::{json, once_settled, same, shape, start},
    inits,
    lab::{containers, containers_with, sh, sh_within},
    sshd::{crosstie, typed},
};

const GUARD_TIMEOUT: Duration = Duration::from_secs(30);
const SLACK_TIMEOUT: Duration = Duration::from_secs(10);
const ADD: &str = "ip address add 198.51.100.7/32 dev enp1s0f0np0";

/// A guard was armed between these two moments: before the program was started, and when the command under it had run.
struct Armed {
    after: Instant,
    before: Instant,
}

/// Armed, with the command done and nobody left to confirm it or to roll it back.
fn armed_and_alone(lab: &Lab, node: &str) -> Armed {
    let after = Instant::now();
    let mut controller = Command::new(crosstie())
        .args(["try", node, "--for", "30s", "--ssh-config"])
        .arg(lab.ssh_config())
        .args(["--become-password-fd", "0", "--", "sh", "-c"])
        .arg(format!("{ADD}; echo done > /run/tried; sleep 600"))
        .stdin(typed(lab.password()))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // The agent before anybody can tell it that its controller has left. Its command goes on.
    let script = "for i in $(seq 200); do [ -e /run/tried ] && break; sleep 0.1; done; \
         pkill -KILL -f '/crosstie/[b]in/[0-9a-f]* agent'; pgrep -f 's[l]eep 600'";
    sh(lab, node, script);
    let before = Instant::now();
    let _ = controller.kill();
    let _ = controller.wait();
    Armed { after, before }
}

fn acts_in_time(lab: &Lab, node: &str, meanwhile: impl FnOnce()) {
    let before = shape(lab, node);
    let armed = armed_and_alone(lab, node);
    meanwhile();
    let why = "cat /var/lib/crosstie/changes/*/state.json; pgrep -f 's[l]eep 600' && exit 1; true";
    let state = once_settled(lab, node, why);
    let (most, least) = (armed.after.elapsed(), armed.before.elapsed());
    assert!(most >= GUARD_TIMEOUT, "{node}: early, after {most:?}");
    assert!(
        least < GUARD_TIMEOUT + SLACK_TIMEOUT,
        "{node}: late, after {least:?}"
    );
    assert!(state.contains("not confirmed within 30 s"), "{state}");
    same(node, &before, &shape(lab, node));
}

/// `/proc/uptime` counts the sleep; what stands still meanwhile is hours behind it.
fn waits_by_the_clock_of_the_boot(lab: &Lab, node: &str) {
    let script = "cut -d ' ' -f 1 /proc/uptime; \
         grep -o 'wait-until [0-9]*' /etc/systemd/system/crosstie-guard-wait.service | cut -d ' ' -f 2";
    let shown = sh(lab, node, script);
    let numbers: Vec<f64> = shown.lines().map(|line| line.parse().unwrap()).collect();
    let left = numbers[1] / 1000.0 - numbers[0];
    let most = GUARD_TIMEOUT.as_secs_f64();
    assert!(left > 0.0 && left <= most, "{left} s are left of {most}");
}

#[test]
fn guard_of_a_machine_that_slept_is_on_time() {
    let lab = containers_with("spark-a", "slept_seconds = 28800");
    acts_in_time(&lab, "spark-a", || {
        waits_by_the_clock_of_the_boot(&lab, "spark-a");
        // Counting is not begun anew by this.
        thread::sleep(Duration::from_secs(8));
        sh(&lab, "spark-a", "systemctl daemon-reload");
    });
}

#[test]
fn guard_in_a_container_is_on_time() {
    let lab = containers_with("spark-a", "manager = \"lxc\"");
    acts_in_time(&lab, "spark-a", || ());
}

/// As a machine that is suspended while it waits: nothing runs, and the time goes on.
#[test]
fn guard_acts_as_soon_as_its_machine_wakes_up() {
    let lab = containers_with("spark-a", "slept_seconds = 60");
    let before = shape(&lab, "spark-a");
    armed_and_alone(&lab, "spark-a");
    lab.pause("spark-a").unwrap();
    thread::sleep(GUARD_TIMEOUT + Duration::from_secs(5));
    lab.resume("spark-a").unwrap();
    let woke = Instant::now();
    once_settled(&lab, "spark-a", "true");
    assert!(
        woke.elapsed() < Duration::from_secs(5),
        "{:?}",
        woke.elapsed()
    );
    same("spark-a", &before, &shape(&lab, "spark-a"));
}

/// As where a file system with errors is mounted anew read-only: the network is what it was, the guard ends, and the rest is
/// done once the disk takes it.
#[test]
fn guard_ends_on_a_disk_that_takes_nothing() {
    let node = "spark-a";
    let lab = containers("two-sparks");
    let directory = tempfile::tempdir().unwrap();
    let cluster = directory.path().join("cluster.toml");
    inits::json(&lab, &[node, "spark-b"], &cluster);
    let before = shape(&lab, node);
    armed_and_alone(&lab, node);
    let folder = "/var/lib/crosstie";
    let read_only = format!("mount --bind {folder} {folder} && mount -o remount,bind,ro {folder}");
    sh(&lab, node, &read_only);
    let ended = "for i in $(seq 60); do ls /run/crosstie/changes/*.json >&2 && break; sleep 1; done; \
         grep -o rolled-back /run/crosstie/changes/*.json; ip -o address show to 198.51.100.7; \
         for i in $(seq 20); do \
         [ $(systemctl show --property=ActiveState --value crosstie-guard.service) = inactive ] && exit; sleep 1; done; exit 1";
    let said = sh_within(&lab, node, ended, Duration::from_secs(100));
    assert_eq!(said.trim(), "rolled-back");
    let shown = json(&lab, &cluster, 1, &["status", node]).to_string();
    assert!(shown.contains("Read-only file system"), "{shown}");
    sh(&lab, node, &format!("umount {folder}"));
    json(&lab, &cluster, 0, &["uninstall", node, "--yes"]);
    same(node, &before, &shape(&lab, node));
}

/// Whoever removes the guard ends the one who waits, also where another has removed its unit before.
#[test]
fn nobody_waits_once_a_change_is_kept_or_rolled_back() {
    let node = "spark-a";
    let directory = tempfile::tempdir().unwrap();
    let cluster = directory.path().join("cluster.toml");
    let lab = containers("two-sparks");
    inits::json(&lab, &[node, "spark-b"], &cluster);
    let before = shape(&lab, node);

    let lost = "rm /etc/systemd/system/crosstie-guard-wait.service";
    let tried = start(
        &lab,
        &cluster,
        &["try", "--yes", node, "--", "sh", "-c", lost],
    );
    let said = tried.wait_with_output().unwrap();
    assert!(said.status.success(), "{said:?}");
    once_settled(&lab, node, "true");
    json(&lab, &cluster, 0, &["rollback", node, "--yes"]);

    // Ctrl-C in the middle of a rollback: the node goes on by itself, and to the end.
    json(&lab, &cluster, 0, &["apply", node, "--yes"]);
    let controller = start(&lab, &cluster, &["rollback", node, "--yes"]);
    let begun = "for i in $(seq 600); do grep -qs rolling-back /var/lib/crosstie/changes/*/state.json && exit; \
         sleep 0.05; done; exit 1";
    sh(&lab, node, begun);
    let pid = Pid::from_child(&controller);
    kill_process(pid, Signal::INT).unwrap();
    let said = controller.wait_with_output().unwrap();
    assert!(!said.status.success(), "{said:?}");
    let state = once_settled(&lab, node, "cat /var/lib/crosstie/changes/*/state.json");
    assert!(!state.contains("cancelled"), "{state}");
    same(node, &before, &shape(&lab, node));
    json(&lab, &cluster, 0, &["status", node]);
}
