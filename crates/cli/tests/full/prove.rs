//! Faults that a proof must name: exactly one root, the right one, and no hang.

use std::{
    fs,
    path::Path,
    process::Command,
    thread,
    time::{Duration, Instant},
};

use crosstie_lab::hub::CableFault;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::common::{
    benches::no_worker_is_left,
    lab::{machines_at, sh},
    proofs::{
        RATE_MEGABITS, declared, keep_run, limit, limited_two_sparks, newest_run, prove,
        prove_while, roots, rows, told,
    },
    prove_faults::{Injected, Severity},
    sshd::crosstie,
    ups::{AFTER_UP, Proven, assert_up, nodes, up},
};

/// Everything, emulated, with every deadline of a dead node in it.
const PROVE_TIMEOUT: Duration = Duration::from_secs(600);

fn names_its_root(fault: Injected) {
    proven_with(&limited_two_sparks(), fault);
}

fn proven_with(proven: &Proven, fault: Injected) -> Value {
    let began = Instant::now();
    let found = fault.proven(proven, Severity::USUAL);
    assert!(began.elapsed() < PROVE_TIMEOUT, "{:?}", began.elapsed());
    let wanted: Vec<&str> = fault.root().into_iter().collect();
    assert_eq!(roots(&found), wanted, "{found:#}");
    found
}

#[test]
fn full_prove_names_a_cut_cable() {
    names_its_root(Injected::Cut);
}

/// In that direction, and as many packets as the hub has dropped.
#[test]
fn full_prove_counts_what_one_direction_loses() {
    let proven = limited_two_sparks();
    let counted = || {
        let status = proven.lab.faults().unwrap();
        let port = status.lost_at.get("spark-a:p0");
        port.map_or(0, |lost| lost.sent)
    };
    let before = counted();
    let found = proven_with(&proven, Injected::LossOneWay);
    let evidence = found["findings"].as_array().unwrap().iter();
    let mut evidence = evidence
        .filter(|one| one["id"] == "path-loses-packets")
        .flat_map(|one| one["evidence"].as_array().unwrap());
    let measured: u64 = evidence
        .by_ref()
        .filter(|one| one["what"].as_str().unwrap().contains("lost, "))
        .map(|one| {
            assert!(is_from(one, "spark-a"), "{one:#}");
            let value = one["value"].as_str().unwrap();
            let lost = value.split(' ').next().unwrap();
            lost.parse::<u64>().unwrap()
        })
        .sum();
    let counted = counted() - before;
    println!("lost: {measured} measured, {counted} counted by the hub");
    assert!(counted >= 200, "too few to compare: {counted}");
    assert!(
        measured.abs_diff(counted) * 5 <= counted,
        "{measured} measured, {counted} counted"
    );
}

/// `data lost, spark-a → spark-b`.
fn is_from(evidence: &Value, node: &str) -> bool {
    let what = evidence["what"].as_str().unwrap();
    let direction = what.split("lost, ").nth(1).unwrap();
    direction.starts_with(node)
}

#[test]
fn full_prove_names_a_slow_cable() {
    names_its_root(Injected::SlowCable);
}

#[test]
fn full_prove_names_a_node_with_a_cpu_quota() {
    names_its_root(Injected::CpuQuota);
}

#[test]
fn full_prove_names_a_smaller_mtu() {
    names_its_root(Injected::SmallMtu);
}

#[test]
fn full_prove_names_arp_flux() {
    names_its_root(Injected::ArpFlux);
}

#[test]
fn full_prove_names_a_node_that_is_killed_meanwhile() {
    names_its_root(Injected::Killed);
}

#[test]
fn full_prove_names_a_node_that_is_paused_meanwhile() {
    names_its_root(Injected::Paused);
}

#[test]
fn full_prove_tells_of_a_node_that_does_not_answer() {
    let proven = limited_two_sparks();
    proven.lab.pause("spark-b").unwrap();
    let began = Instant::now();
    let state = tempfile::tempdir().unwrap();
    let output = prove(&proven, state.path(), &["--quick"]);
    proven.lab.resume("spark-b").unwrap();
    assert!(began.elapsed() < PROVE_TIMEOUT);
    assert_ne!(output.status.code(), Some(0));
    let said = [&output.stdout[..], &output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(said.contains("spark-b"), "{said}");
}

fn reported(run: &Path) -> Value {
    let mut command = Command::new(crosstie());
    let output = command.arg("report").arg(run).arg("--json").output();
    serde_json::from_slice(&output.unwrap().stdout).unwrap()
}

/// Ctrl-C in the middle of a round: what was measured is there, and the run says that it was interrupted.
#[test]
fn full_prove_interrupted_keeps_what_was_measured() {
    let proven = limited_two_sparks();
    let state = tempfile::tempdir().unwrap();
    let output = prove_while(&proven, state.path(), &["--full"], 5, |pid| {
        let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
        kill_process(pid, Signal::INT).unwrap();
    });
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("crosstie report "), "{said}");
    let report = reported(&newest_run(state.path()));
    assert_eq!(report["end"]["state"], "interrupted", "{report:#}");
    let sentence = report["summary"]["sentence"].as_str().unwrap();
    assert!(sentence.contains("nterrupted before"), "{sentence}");
    // Reachability of two rails both ways, and what came of three more steps.
    let measured = report["summary"]["measurements"].as_u64().unwrap();
    assert!(measured > 4, "{report:#}");
    no_worker_is_left(&proven.lab, &nodes(&proven.lab));
}

/// An MTU of both ends, and a kernel: the stored run is given another, since a lab has one.
#[test]
fn full_prove_tells_what_changed_since_the_last_one() {
    let proven = limited_two_sparks();
    let state = tempfile::tempdir().unwrap();
    told(&prove(&proven, state.path(), &["--quick"]));
    let path = newest_run(state.path());
    let text = fs::read_to_string(&path).unwrap();
    let mut run = crosstie_model::run::read(&text).unwrap();
    run.header.nodes[1].kernel = Some("6.0.0-older".to_owned());
    fs::write(&path, crate::made_up::file(&run)).unwrap();
    for node in ["spark-a", "spark-b"] {
        sh(&proven.lab, node, "ip link set enp1s0f0np0 mtu 4200");
    }
    let found = told(&prove(&proven, state.path(), &["--quick"]));
    let changes = found["changes"].as_array().unwrap();
    let is_named = |what: &str, subject: &str, before: &str| {
        changes.iter().any(|one| {
            one["what"] == what
                && one["subject"].as_str().unwrap().contains(subject)
                && one["before"] == before
        })
    };
    assert!(is_named("kernel", "spark-b", "6.0.0-older"), "{changes:#?}");
    assert!(
        is_named("MTU", "spark-a rocep1s0f0", "9000"),
        "{changes:#?}"
    );
    assert!(
        is_named("MTU", "spark-b rocep1s0f0", "9000"),
        "{changes:#?}"
    );
}

/// `up` measures, says "proven", and makes a page; where a program uses a device, nothing is measured.
#[test]
fn full_up_says_proven_of_what_it_measured() {
    let proven = limited_two_sparks();
    let (lab, cluster) = (&proven.lab, &proven.cluster);
    let state = tempfile::tempdir().unwrap();
    fs::copy(cluster, state.path().join("cluster.toml")).unwrap();
    let told = |output: &std::process::Output| -> Value {
        assert_up(output);
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let found = told(&up(lab, state.path()).arg("--json").output().unwrap());
    assert_eq!(found["verdict"], "proven", "{found:#}");
    assert_eq!(found["measured"]["prove"]["mode"], "quick");
    let page = found["measured"]["report"].as_str().unwrap();
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("spark-a"), "{page}");

    // A program of somebody else's.
    sh(
        lab,
        "spark-b",
        "systemd-run --unit=job ib_write_bw -d rocep1s0f0 -D 600",
    );
    let client = "address=$(ip -4 -o address show dev enp1s0f0np0 | sed 's|.*inet ||; s|/.*||' | sed 's/.$/2/'); \
        systemd-run --unit=job ib_write_bw -d rocep1s0f0 -D 600 $address; sleep 5; systemctl is-active job";
    sh(lab, "spark-a", client);
    let found = told(&up(lab, state.path()).arg("--json").output().unwrap());
    assert_eq!(found["verdict"], "reachable", "{found:#}");
    let why = found["measured"]["skipped"].as_str().unwrap();
    assert!(why.contains("ib_write_bw"), "{why}");
}

/// Ten minutes of traffic, and a cable that is out for three seconds in the middle of them: named, with its time.
#[test]
fn full_prove_soak_names_a_short_cut_with_its_time() {
    const SOAK: u64 = 600;
    // Seconds go by before the run itself begins.
    const SLACK: f64 = 20.0;
    let proven = limited_two_sparks();
    let state = tempfile::tempdir().unwrap();
    let seconds = format!("{SOAK}s");
    let arguments = ["--soak", &seconds, "--seconds", "0.5"];
    let began = Instant::now();
    let cut = std::cell::Cell::new(0.0);
    let output = prove_while(&proven, state.path(), &arguments, 1, |_| {
        thread::sleep(Duration::from_secs(SOAK / 2));
        cut.set(began.elapsed().as_secs_f64());
        proven.lab.fault("spark-a:p0", CableFault::Cut).unwrap();
        thread::sleep(Duration::from_secs(3));
        proven.lab.restore("spark-a:p0").unwrap();
        limit(&proven.lab, "spark-a", RATE_MEGABITS);
    });
    keep_run(state.path(), "soak");
    let found = told(&output);
    assert_eq!(roots(&found), ["bandwidth-unsteady"], "{found:#}");
    println!("cut at {:.1} s: {:#}", cut.get(), found["findings"]);
    let of_cut = |(from, to): &(f64, f64)| from - SLACK < cut.get() && cut.get() < to + SLACK;
    assert!(breaks(&found).iter().any(of_cut), "{found:#}");
}

/// When traffic broke off, in seconds: `between 302.2 s and 303.8 s after the run began`.
fn breaks(found: &Value) -> Vec<(f64, f64)> {
    let findings = found["findings"].as_array().unwrap().iter();
    let evidence = findings.flat_map(|finding| finding["evidence"].as_array().unwrap());
    let breaks = evidence.filter(|one| one["what"] == "traffic broke off");
    let times = breaks.map(|one| {
        let words = one["value"].as_str().unwrap().split(' ');
        let times: Vec<f64> = words.filter_map(|word| word.parse().ok()).collect();
        (times[0], times[1])
    });
    times.collect()
}

/// Four nodes on a switch: every pair, and many to one.
#[test]
fn full_prove_a_switch() {
    let lab = machines_at("switch-four", AFTER_UP);
    let directory = lab.directory().join(AFTER_UP);
    fs::create_dir_all(&directory).unwrap();
    assert_up(&up(&lab, &directory).arg("--no-measure").output().unwrap());
    let cluster = declared(&lab, &directory.join("cluster.toml"));
    let proven = Proven {
        lab,
        cluster,
        told: Value::Null,
        before: Vec::new(),
    };
    let state = tempfile::tempdir().unwrap();
    let output = prove(&proven, state.path(), &["--full", "--seconds", "2"]);
    keep_run(state.path(), "switch-four");
    let found = told(&output);
    assert_eq!(roots(&found), [""; 0], "{found:#}");
    assert_eq!(output.status.code(), Some(0), "{found:#}");
    let writes = rows(&found, "rdma-write");
    let mut alone = writes
        .iter()
        .filter(|row| row["phase"] == "round" || row["phase"] == "solo");
    for from in nodes(&proven.lab) {
        for to in nodes(&proven.lab) {
            let has = alone
                .clone()
                .any(|row| row["from"] == from && row["to"] == to);
            assert!(from == to || has, "{from} → {to}: {found:#}");
        }
    }
    assert!(alone.all(|row| row["verdict"] == "healthy"), "{found:#}");
    assert!(
        writes.iter().any(|row| row["phase"] == "incast"),
        "{found:#}"
    );
    no_worker_is_left(&proven.lab, &nodes(&proven.lab));
}
