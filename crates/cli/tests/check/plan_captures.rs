//! `crosstie plan` on the sample nodes, as a person and as a program would run it.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

use crosstie_facts::{CaptureEntry, facts};
use crosstie_model::{ClusterSpec, PlanStep, Reading};
use serde_json::Value;

use crate::common::{
    command::{self, Schema, fixtures},
    samples,
};

fn crosstie(arguments: &[&str]) -> (i32, String, String) {
    command::crosstie("", arguments)
}

fn plan(cluster: &str, more: &[&str]) -> (i32, String, String) {
    let cluster = format!("clusters/{cluster}.toml");
    let mut arguments = vec!["plan", "--from", "nodes", "--cluster", &cluster];
    arguments.extend(more);
    crosstie(&arguments)
}

#[test]
fn what_a_person_sees_of_a_pair() {
    let (code, stdout, stderr) = plan("pair", &[]);
    assert_eq!(code, 0, "{stderr}");
    assert!(stderr.contains("spark-c") && stderr.contains("work-b"));
    insta::assert_snapshot!(stdout);
}

#[test]
fn what_a_person_sees_of_a_ring() {
    let (code, stdout, _) = plan("ring", &[]);
    assert_eq!(code, 0);
    insta::assert_snapshot!(stdout);
}

#[test]
fn what_a_person_sees_of_a_switch() {
    let (code, stdout, _) = plan("switch", &[]);
    assert_eq!(code, 0);
    insta::assert_snapshot!(stdout);
}

const OFF: &str = "CanNTP=yes\nNTP=no\nNTPSynchronized=no\n";

/// Where a time service is installed and none runs, the plan starts it; where the clock is somebody else's, it does not.
#[test]
fn a_clock_that_nobody_sets_is_set() {
    let text = fs::read_to_string(fixtures().join("clusters/pair.toml")).unwrap();
    let spec = ClusterSpec::from_toml(&text).unwrap();
    let planned = |clock: &str, more: &[&str]| {
        let mut raw = samples::raw("spark-healthy");
        raw.insert_command(
            "timedatectl.txt",
            CaptureEntry::File(clock.as_bytes().to_vec()),
        );
        for path in more {
            raw.insert(path, CaptureEntry::File(b"lxc\n".to_vec()));
        }
        let facts = facts(&raw);
        let plan = crosstie_plan::plan(&spec, std::slice::from_ref(&facts)).unwrap();
        let node = plan.nodes.into_iter().next().unwrap();
        let is_one = |step: &&PlanStep| matches!(step, PlanStep::TimeService(_));
        let step = node.steps.iter().find(is_one).cloned();
        (step, crosstie_plan::predict_facts(&node, &facts), facts)
    };
    let (step, after, before) = planned(OFF, &[]);
    let step = step.unwrap();
    assert!(!step.is_done(&before) && step.is_done(&after));
    assert!(step.undo().is_done(&before));
    // Whether it reaches a server is seen afterwards.
    assert_eq!(after.system.clock_synchronised, Reading::Absent);
    for (clock, more) in [
        ("CanNTP=no\nNTP=no\nNTPSynchronized=no\n", ""),
        ("CanNTP=yes\nNTP=yes\nNTPSynchronized=no\n", ""),
        (OFF, "run/systemd/container"),
        (OFF, "sys/fs/cgroup/system.slice/phc2sys@eth0.service"),
        (OFF, "sys/fs/cgroup/system.slice/chronyd.service"),
    ] {
        let more = [more];
        let more = if more[0].is_empty() {
            &[][..]
        } else {
            &more[..]
        };
        assert_eq!(planned(clock, more).0, None, "{clock} {more:?}");
    }
}

#[test]
fn a_twin_without_a_partner_gets_no_address() {
    let (code, stdout, _) = plan("mixed-pair", &["--json"]);
    assert_eq!(code, 0);
    insta::assert_snapshot!(stdout);
}

#[test]
fn files_are_written_as_they_would_be() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    for _ in 0..2 {
        let (code, ..) = plan("pair", &["--out", out]);
        assert_eq!(code, 0);
    }
    let netplan = folder.path().join("spark-a/etc/netplan/90-crosstie.yaml");
    let text = fs::read_to_string(&netplan).unwrap();
    assert!(text.contains("\"10.77.0.1/24\"") && !text.contains("\n  renderer"));
    let mode = fs::metadata(&netplan).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let hosts = fs::read_to_string(folder.path().join("spark-b/etc/hosts")).unwrap();
    assert!(hosts.contains("10.77.0.1 spark-a-fabric\n"));
    let mut names: Vec<String> = fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["spark-a", "spark-b"]);
}

/// A capture with what the plan for it would have written.
fn applied(folder: &Path, node: &str, fixture: &str) {
    let copy = |from: &Path, to: &Path| {
        let status = Command::new("cp").arg("-a").arg(from).arg(to).status();
        assert!(status.unwrap().success());
    };
    let captures = folder.join("captures");
    fs::create_dir_all(&captures).unwrap();
    let capture = captures.join(node);
    copy(&fixtures().join("nodes").join(fixture), &capture);
    let out = folder.join("out").join(node).join("etc");
    copy(&out.join("."), &capture.join("root/etc"));
}

#[test]
fn what_was_done_is_not_done_again() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let (code, ..) = plan("pair", &["--out", out.to_str().unwrap()]);
    assert_eq!(code, 0);
    applied(folder.path(), "spark-a", "spark-healthy");
    applied(folder.path(), "spark-b", "spark-b-healthy");
    for (node, old) in [("spark-a", "11"), ("spark-b", "14")] {
        let capture = folder.path().join("captures").join(node);
        let netplan = capture.join("root/etc/netplan");
        fs::rename(
            netplan.join("40-fabric.yaml"),
            netplan.join("40-fabric.yaml.crosstie~"),
        )
        .unwrap();
        let addresses = capture.join("cmd/ip-addr.json");
        let text = fs::read_to_string(&addresses).unwrap();
        let last = if node == "spark-a" { "1" } else { "2" };
        let text = text
            .replace(
                &format!("192.168.177.{old}\""),
                &format!("10.77.0.{last}\""),
            )
            .replace(
                &format!("192.168.178.{old}\""),
                &format!("10.77.1.{last}\""),
            );
        fs::write(&addresses, text).unwrap();
    }
    let captures = folder.path().join("captures");
    let again = |code: i32, expected: &[&str]| {
        let (found, stdout, stderr) = crosstie(&[
            "plan",
            "--cluster",
            "clusters/pair.toml",
            "--from",
            captures.to_str().unwrap(),
        ]);
        assert_eq!(found, code, "{stdout}{stderr}");
        for text in expected {
            assert!(stdout.contains(text), "{text}: {stdout}");
        }
    };
    again(0, &["spark-a  nothing to do", "2 nodes with nothing to do"]);

    // A person's own edit is neither overwritten nor taken for ours.
    let hosts = captures.join("spark-a/root/etc/hosts");
    let text = fs::read_to_string(&hosts).unwrap();
    fs::write(&hosts, text.replace("spark-b-fabric", "other")).unwrap();
    let limits = captures.join("spark-b/root/etc/security/limits.d/90-crosstie.conf");
    let text = fs::read_to_string(&limits).unwrap();
    fs::write(&limits, text.replace("unlimited", "1024")).unwrap();
    again(
        2,
        &[
            "✗ /etc/hosts was changed by hand",
            "✗ /etc/security/limits.d/90-crosstie.conf was changed by hand",
            "2 nodes refused",
        ],
    );
}

#[test]
fn mistakes_are_answered_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let base = fs::read_to_string(fixtures().join("clusters/pair.toml")).unwrap();
    let cases = [
        (
            "spark-b:p1\"",
            "spark-x:p1\"",
            "14: [[cable]] 1: there is no node 'spark-x'; did you mean 'spark-a'?",
        ),
        (
            "pool = \"10.77.0.0/16\"",
            "",
            "4: [fabric]: `pool` is missing",
        ),
        (
            "10.77.0.0/16",
            "10.77.0.0/24",
            "the pool 10.77.0.0/24 is too small: cable 0 needs subnet 2 of /24, and there are 1",
        ),
        ("mtu = 9000", "mtu = 90000", "`mtu` is 90000"),
        ("mtu", "mtuu", "did you mean `mtu`?"),
    ];
    for (from, to, expected) in cases {
        let path = folder.path().join("cluster.toml");
        fs::write(&path, base.replacen(from, to, 1)).unwrap();
        let (code, stdout, stderr) = crosstie(&[
            "plan",
            "--cluster",
            path.to_str().unwrap(),
            "--from",
            "nodes",
        ]);
        assert_eq!((code, stdout.as_str()), (2, ""), "{stderr}");
        assert!(stderr.contains(expected), "{expected}: {stderr}");
    }
    let (code, _, stderr) = crosstie(&["plan", "--from", "nodes"]);
    assert!(code == 2 && stderr.contains("cluster.toml"), "{stderr}");
}

#[test]
fn what_could_cut_someone_off_is_refused() {
    let base = fs::read_to_string(fixtures().join("clusters/pair.toml")).unwrap();
    let cases = [
        // The pool is where management lives.
        (
            "10.77.0.0/16",
            "10.1.0.0/16",
            "✗ the pool 10.1.0.0/16 overlaps 10.1.2.0/24, which is already in use on enP7s7",
        ),
        (
            "spark-a:p1",
            "spark-a:p7",
            "✗ there is no cage 'p7' on this node; it has p0, p1",
        ),
    ];
    let folder = tempfile::tempdir().unwrap();
    for (from, to, expected) in cases {
        let path = folder.path().join("cluster.toml");
        fs::write(&path, base.replacen(from, to, 1)).unwrap();
        let (code, stdout, _) = crosstie(&[
            "plan",
            "--cluster",
            path.to_str().unwrap(),
            "--from",
            "nodes",
        ]);
        assert_eq!(code, 2, "{stdout}");
        let joined = stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(joined.contains(expected), "{expected}: {stdout}");
    }
}

#[test]
fn the_published_schemas_are_current_and_hold() {
    let (_, document, _) = plan("switch", &["--json"]);
    let document: Value = serde_json::from_str(&document).unwrap();
    let cluster = fs::read_to_string(fixtures().join("clusters/switch.toml")).unwrap();
    let cluster: Value = toml::from_str(&cluster).unwrap();
    for (name, value) in [("plan", document), ("cluster", cluster)] {
        let schema = Schema::published(name);
        schema.allows(&value).unwrap();
        let wrong = serde_json::json!({"format": "x"});
        assert!(schema.allows(&wrong).is_err());
    }
}

/// What apply writes is read back from the node, so whatever keeps secrets out of captures must let all of it through.
#[test]
fn files_that_were_written_are_seen_through_a_capture() {
    for cluster in ["pair", "mixed-pair"] {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        let (code, ..) = plan(cluster, &["--out", &path("first")]);
        assert_eq!(code, 0, "{cluster}");
        for host in fs::read_dir(path("first")).unwrap() {
            let host = host.unwrap().file_name().into_string().unwrap();
            let (changed, cut) = (
                path(&format!("{host}-changed")),
                path(&format!("{host}-cut")),
            );
            copy(&capture_of(&host), Path::new(&changed));
            copy(
                &folder.path().join("first").join(&host),
                &Path::new(&changed).join("root"),
            );
            let (code, _, stderr) = crosstie(&["scan", "--from", &changed, "--capture", &cut]);
            assert_eq!(code, 0, "{stderr}");
        }
        fs::create_dir(path("nodes")).unwrap();
        for host in fs::read_dir(path("first")).unwrap() {
            let host = host.unwrap().file_name().into_string().unwrap();
            fs::rename(path(&format!("{host}-cut")), path(&format!("nodes/{host}"))).unwrap();
        }
        let file = format!("clusters/{cluster}.toml");
        let again = [
            "plan",
            "--from",
            &path("nodes"),
            "--cluster",
            &file,
            "--out",
            &path("again"),
        ];
        let (code, stdout, stderr) = crosstie(&again);
        assert_eq!(code, 0, "{cluster}: {stdout}{stderr}");
        let left: Vec<PathBuf> = files(Path::new(&path("again")));
        assert!(
            left.is_empty(),
            "{cluster}: not seen: {left:?}\n{stdout}{stderr}"
        );
    }
}

/// The sample node that calls itself so.
fn capture_of(host: &str) -> PathBuf {
    let nodes = fs::read_dir(fixtures().join("nodes")).unwrap();
    let mut nodes = nodes.map(|node| node.unwrap().path());
    let line = format!("host = \"{host}\"");
    let found = nodes.find(|node| {
        let meta = fs::read_to_string(node.join("meta.toml"));
        meta.is_ok_and(|meta| meta.lines().any(|found| found == line))
    });
    found.unwrap_or_else(|| panic!("no sample of {host}"))
}

fn copy(from: &Path, to: &Path) {
    let copied = Command::new("cp")
        .args(["-a", "--no-target-directory"])
        .args([from, to])
        .status();
    assert!(copied.unwrap().success());
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let paths = entries.map(|entry| entry.unwrap().path());
    let below = |path: PathBuf| {
        if path.is_dir() {
            files(&path)
        } else {
            vec![path]
        }
    };
    paths.flat_map(below).collect()
}
