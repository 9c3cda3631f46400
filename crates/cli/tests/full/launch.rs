//! `crosstie launch`: jobs that outlive their controller and a login, end on all nodes when one rank ends, and leave nothing.

use std::{
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::common::jobs::{JobLab, NODES, PROGRAMS};

/// Prints what it was given, starts something in the background as a daemon would, and goes on for hours.
const LONG: &str = r#"#!/bin/sh
echo "user $(id -un) memlock $(ulimit -l) interface $GLOO_SOCKET_IFNAME token $MY_TOKEN"
echo "arguments $*"
setsid sleep 7777 >/dev/null 2>&1 </dev/null &
exec sleep 7777"#;

/// What a unit can have at most. A container's init may have lost the right to give more than it has itself (`CAP_SYS_RESOURCE`).
const MOST_MEMLOCK: &str = "caps=$(sed -n 's/^CapEff:[[:space:]]*//p' /proc/1/status); \
     if [ $((0x$caps >> 24 & 1)) = 1 ]; then echo unlimited; else \
     bytes=$(sed -n 's/^Max locked memory *[^ ]* *\\([^ ]*\\) .*/\\1/p' /proc/1/limits); \
     [ $bytes = unlimited ] && echo unlimited || echo $((bytes / 1024)); fi";

const START: [&str; 6] = [
    "torchrun",
    "train.py",
    "--programs",
    PROGRAMS,
    "--directory",
    "/opt",
];

fn prepared() -> JobLab {
    let jobs = JobLab::new();
    jobs.program("torchrun", LONG);
    for node in NODES {
        jobs.sh(node, "echo pass > /opt/train.py");
    }
    jobs
}

fn start(jobs: &JobLab, root: bool, more: &[&str]) -> String {
    let launched = jobs.json(root, 0, &[&START[..], &["--force"], more].concat());
    assert_eq!(launched["outcome"], "running", "{launched:#}");
    launched["job"].as_str().unwrap().to_owned()
}

fn eventually(jobs: &JobLab, root: bool, wanted: impl Fn(&Value) -> bool) -> Value {
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        let output = jobs
            .command(root, &["status", "--json"])
            .output()
            .unwrap()
            .stdout;
        let status: Value = serde_json::from_slice(&output).unwrap();
        if wanted(&status) {
            return status;
        }
        assert!(Instant::now() < until, "{status:#}");
        thread::sleep(Duration::from_millis(300));
    }
}

fn has_ended(status: &Value) -> bool {
    let ranks = status["jobs"][0]["ranks"].as_array();
    ranks.is_some_and(|ranks| {
        let ended = ranks.iter().filter(|rank| rank["phase"] == "ended");
        ended.count() == 2
    })
}

#[test]
fn full_a_job_outlives_its_controller_and_is_stopped_with_all_that_it_started() {
    let jobs = prepared();
    let job = start(&jobs, true, &["--set", "MY_TOKEN=tk-31337"]);
    let status = jobs.json(true, 0, &["status"]);
    let ranks = status["jobs"][0]["ranks"].as_array().unwrap();
    assert_eq!(ranks.len(), 2, "{status:#}");
    for rank in ranks {
        assert_eq!(rank["phase"], "running", "{status:#}");
        assert_eq!(rank["is_system_unit"], true);
    }
    let (code, log) = jobs.run(true, &["logs", &job]);
    assert_eq!(code, 0, "{log}");
    for wanted in [
        "spark-a: user ",
        " interface enp1s0f0np0 token tk-31337",
        "spark-b: arguments --nnodes=2 --node_rank=1 ",
    ] {
        assert!(log.contains(wanted), "'{wanted}' not in {log}");
    }
    assert!(!log.contains("user root"), "{log}");
    let most = jobs.sh("spark-a", MOST_MEMLOCK);
    let memlock = format!("memlock {} ", most.trim());
    assert!(log.contains(&memlock), "'{memlock}' not in {log}");
    for node in NODES {
        // Nobody is logged in, and it goes on; no token is in any argument list, nor readable by others.
        let seen = jobs.sh(
            node,
            "pgrep -f '^sleep 7777' | wc -l; grep -lz 'tk-3133[7]' /proc/[0-9]*/cmdline 2>/dev/null | grep -v self; \
             stat -c %a /var/lib/crosstie/jobs/*/environment; stat -c %a /var/lib/crosstie/jobs/*; \
             journalctl --no-pager -t crosstie-$(ls /var/lib/crosstie/jobs) | grep -c 'memlock .* interface'",
        );
        let lines: Vec<&str> = seen.lines().collect();
        assert_eq!(lines, ["2", "600", "700", "1"], "{node}");
    }
    let stopped = jobs.json(true, 0, &["stop", &job]);
    assert_eq!(stopped["nodes"].as_array().unwrap().len(), 2);
    jobs.has_nothing_left();
    let (code, text) = jobs.run(true, &["stop", "--all"]);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("there is nothing to stop"), "{text}");
}

#[test]
fn full_a_rank_that_ends_ends_the_job_on_all_nodes() {
    let jobs = prepared();
    for (kill, why) in [
        (
            "pkill -KILL -o -f '^sleep 7777'",
            "rank 1 on spark-b: killed by signal 9",
        ),
        (
            "pkill -KILL -f 'progra[m] rank'",
            "rank 1 on spark-b is gone",
        ),
    ] {
        start(&jobs, true, &[]);
        jobs.sh("spark-b", kill);
        let status = eventually(&jobs, true, |status| {
            status["jobs"][0]["ranks"][0]["phase"] == "ended"
        });
        let told = status["jobs"][0]["ranks"][0]["ended"]["why"].as_str();
        assert!(told.unwrap().starts_with(why), "{status:#}");
        assert_ne!(status["jobs"][0]["troubles"], Value::Array(Vec::new()));
        for node in NODES {
            let gone =
                "timeout 40 sh -c 'while pgrep -f \"^sleep 7777\" >/dev/null; do sleep 0.2; done'";
            jobs.sh(node, gone);
        }
        assert_eq!(jobs.run(true, &["status"]).0, 1);
        jobs.json(true, 0, &["stop", "--all"]);
        jobs.has_nothing_left();
    }
    // All end well by themselves.
    jobs.program("torchrun", "#!/bin/sh\necho done");
    let launched = jobs.json(true, 0, &[&START[..], &["--force", "--wait"]].concat());
    assert_eq!(launched["outcome"], "ended", "{launched:#}");
    jobs.program("torchrun", "#!/bin/sh\nexit 3");
    jobs.json(true, 0, &["stop", "--all"]);
    let launched = jobs.json(true, 1, &[&START[..], &["--force", "--wait"]].concat());
    assert_eq!(launched["outcome"], "failed", "{launched:#}");
    let why = launched["why"].as_str().unwrap();
    assert!(why.contains("exit status 3"), "{why}");
    jobs.json(true, 0, &["stop", "--all"]);
    jobs.has_nothing_left();
}

#[test]
fn full_a_controller_killed_at_any_moment_leaves_nothing_that_stop_cannot_end() {
    let jobs = prepared();
    for delay in [400, 900, 1500, 2200, 3500] {
        let mut controller = jobs.start(true, &[&START[..], &["--force"]].concat());
        thread::sleep(Duration::from_millis(delay));
        let _ = controller.kill();
        controller.wait().unwrap();
        // What the agents were at is done, or cancelled with their sessions.
        thread::sleep(Duration::from_millis(1500));
        let (code, text) = jobs.run(true, &["stop", "--all"]);
        assert_eq!(code, 0, "after {delay} ms: {text}");
        jobs.has_nothing_left();
    }
}

#[test]
fn full_without_root_units_are_the_users_own_and_lingering_is_taken_back() {
    let jobs = prepared();
    start(&jobs, false, &[]);
    let status = jobs.json(false, 0, &["status"]);
    for rank in status["jobs"][0]["ranks"].as_array().unwrap() {
        assert_eq!(rank["is_system_unit"], false, "{status:#}");
    }
    for node in NODES {
        let seen = "ls /var/lib/systemd/linger | wc -l; pgrep -f '^sleep 7777' | wc -l";
        assert_eq!(jobs.sh(node, seen), "1\n2\n", "{node}");
    }
    // Root sees the user's jobs, too, and ends them.
    assert_eq!(
        jobs.json(true, 0, &["status"])["jobs"][0]["job"],
        status["jobs"][0]["job"]
    );
    jobs.json(true, 0, &["stop"]);
    jobs.has_nothing_left();
    // And the user those that root started for them; what only root can remove goes with root's next stop.
    start(&jobs, true, &[]);
    jobs.json(false, 0, &["stop"]);
    assert_eq!(jobs.sh("spark-a", "pgrep -fc '^sleep 7777'; true"), "0\n");
    jobs.sh("spark-a", "touch -d '1 hour ago' /var/lib/crosstie/jobs/*");
    jobs.sh("spark-b", "touch -d '1 hour ago' /var/lib/crosstie/jobs/*");
    jobs.json(true, 0, &["stop", "--all"]);
    jobs.has_nothing_left();
}

#[test]
fn full_what_mpirun_starts_elsewhere_is_in_the_jobs_unit() {
    let jobs = prepared();
    jobs.program(
        "mpirun",
        r#"#!/bin/sh
[ "$1" != --version ] || { echo 'mpirun (Open MPI) 4.1.4'; exit; }
echo "here $(grep 0:: /proc/self/cgroup)"
$OMPI_MCA_plm_rsh_agent spark-b 'echo "there $(hostname) $(grep 0:: /proc/self/cgroup) $UCX_NET_DEVICES"; exit 5'
echo "it said $?"
$OMPI_MCA_plm_rsh_agent nowhere true || echo "refused $?""#,
    );
    let arguments = [
        "mpirun",
        "--programs",
        PROGRAMS,
        "--force",
        "--wait",
        "--",
        "./ring",
    ];
    let output = jobs.command(true, &arguments).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let (_, log) = jobs.run(true, &["logs"]);
    for wanted in [
        "spark-a: here 0::/system.slice/crosstie-job-mpirun-",
        "spark-b: there spark-b 0::/system.slice/crosstie-job-mpirun-",
        "rocep1s0f0:1",
        "spark-a: it said 5",
        "spark-a: refused 255",
    ] {
        assert!(log.contains(wanted), "'{wanted}' not in {log}");
    }
    jobs.json(true, 0, &["stop"]);
    jobs.has_nothing_left();
}

#[test]
fn full_obstacles_have_node_evidence_and_fix_and_nothing_is_started() {
    let jobs = prepared();
    jobs.sh("spark-b", "echo other > /opt/train.py");
    let arguments = [&START[..], &["--force", "--same", "/opt/weights"]].concat();
    let (code, text) = jobs.run(true, &arguments);
    assert_eq!(code, 2, "{text}");
    for wanted in [
        "nothing was started",
        "spark-b: train.py is another file than on spark-a",
        "spark-a: /opt/weights cannot be read",
        "Fix: copy it from spark-a",
    ] {
        assert!(text.contains(wanted), "'{wanted}' not in {text}");
    }
    jobs.sh("spark-b", &format!("rm {PROGRAMS}/torchrun"));
    let (_, text) = jobs.run(true, &arguments);
    assert!(
        text.contains("spark-b: torchrun is not installed"),
        "{text}"
    );
    let plan = jobs.json(true, 1, &[&START[..], &["--force", "--dry-run"]].concat());
    let obstacles = plan["obstacles"].as_array().unwrap();
    assert_eq!(obstacles[0]["host"], "spark-b", "{plan:#}");
    jobs.has_nothing_left();
}

#[test]
fn full_a_dark_cable_is_named_and_ends_the_job_where_that_is_asked_for() {
    let jobs = prepared();
    start(&jobs, true, &["--stop-on-hang"]);
    jobs.sh("spark-b", "ip link set enp1s0f0np0 down");
    let status = eventually(&jobs, true, has_ended);
    let why = status["jobs"][0]["ranks"][0]["ended"]["why"].as_str();
    assert!(
        why.unwrap()
            .contains("the cable spark-a:p0 ↔ spark-b:p0 is dark"),
        "{status:#}"
    );
    jobs.json(true, 0, &["stop", "--all"]);
    jobs.has_nothing_left();
}
