//! `crosstie explain` on the sample logs, as a person and as a program would run it.

use std::{collections::BTreeSet, io::Write, process::Stdio};

use crosstie_doctor::checks;
use serde::Deserialize;
use serde_json::Value;

use crate::common::command::{Schema, command, fixtures, said};

/// What a log must be understood as. Fields that are left out are not looked at.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    transport: Option<String>,
    gdr: Option<bool>,
    devices: Option<Vec<String>>,
    versions: Option<Vec<String>>,
    /// Of the first run.
    nodes: Option<u32>,
    /// `FROM TO VIA CHANNELS SENDS-ON RECEIVES-ON` of all runs.
    pairs: Option<Vec<String>>,
    /// `SEVERITY ID SUBJECT`, all of them, in order.
    findings: Vec<String>,
    /// Captures to go by.
    #[serde(default)]
    from: Vec<String>,
}

fn explain(arguments: &[&str], input: &[u8]) -> (i32, String, String) {
    let mut child = command("nccl-logs", &["explain"])
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    said(child.wait_with_output().unwrap())
}

fn names() -> BTreeSet<String> {
    let logs = fixtures().join("nccl-logs").read_dir().unwrap();
    let paths = logs.map(|entry| entry.unwrap().path());
    paths
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect()
}

fn expected(name: &str) -> Expected {
    let path = fixtures().join(format!("nccl-logs/{name}.toml"));
    let text = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    toml::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn words(value: &Value) -> String {
    let names: Vec<&str> = value
        .as_array()
        .unwrap()
        .iter()
        .map(|name| name.as_str().unwrap())
        .collect();
    if names.is_empty() {
        "-".to_owned()
    } else {
        names.join(",")
    }
}

fn pairs(report: &Value) -> Vec<String> {
    let runs = report["runs"].as_array().unwrap().iter();
    let pairs = runs.flat_map(|run| run["pairs"].as_array().unwrap());
    pairs
        .flat_map(|pair| {
            pair["routes"].as_array().unwrap().iter().map(move |route| {
                let gdr = if route["gdr"] == true { "+GDR" } else { "" };
                let (from, to) = (pair["from"].as_str().unwrap(), pair["to"].as_str().unwrap());
                let (via, channels) = (route["via"].as_str().unwrap(), &route["channels"]);
                let (sends, receives) = (
                    words(&route["send_devices"]),
                    words(&route["receive_devices"]),
                );
                format!("{from} {to} {via}{gdr} {channels} {sends} {receives}")
            })
        })
        .collect()
}

fn findings(report: &Value) -> Vec<String> {
    let findings = report["findings"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    findings
        .map(|found| {
            format!(
                "{} {} {}",
                text(&found["severity"]),
                text(&found["id"]),
                text(&found["subject"])
            )
        })
        .collect()
}

/// What differs, one line each.
fn differences(name: &str, report: &Value, expected: &Expected) -> Vec<String> {
    let mut differences = Vec::new();
    let mut compare = |what: &str, found: Value, wanted: Option<Value>| {
        if let Some(wanted) = wanted.filter(|wanted| *wanted != found) {
            differences.push(format!("{name}: {what} is {found:#}, not {wanted:#}"));
        }
    };
    let json = |list: &Vec<String>| Value::from(list.clone());
    compare(
        "transport",
        report["transport"].clone(),
        expected.transport.clone().map(Value::from),
    );
    compare("gdr", report["gdr"].clone(), expected.gdr.map(Value::from));
    compare(
        "devices",
        report["devices"].clone(),
        expected.devices.as_ref().map(json),
    );
    compare(
        "versions",
        report["versions"].clone(),
        expected.versions.as_ref().map(json),
    );
    compare(
        "nodes",
        report["runs"][0]["nodes"].clone(),
        expected.nodes.map(Value::from),
    );
    compare(
        "pairs",
        pairs(report).into(),
        expected.pairs.as_ref().map(json),
    );
    compare(
        "findings",
        findings(report).into(),
        Some(json(&expected.findings)),
    );
    differences
}

#[test]
fn every_sample_log_is_understood() {
    let mut all = Vec::new();
    for name in names() {
        let expected = expected(&name);
        let log = format!("{name}.log");
        let mut arguments = vec!["--nccl-log".to_owned(), log, "--json".to_owned()];
        for capture in &expected.from {
            arguments.extend(["--from".to_owned(), format!("../nodes/{capture}")]);
        }
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let (code, stdout, stderr) = explain(&arguments, b"");
        let faulty = expected
            .findings
            .iter()
            .any(|found| found.starts_with("fault "));
        let report: Value = serde_json::from_str(&stdout).unwrap();
        // What has no line of NCCL's says nothing of faults.
        let wanted = if report["messages"] == 0 {
            2
        } else {
            i32::from(faulty)
        };
        assert_eq!((code, stderr.as_str()), (wanted, ""), "{name}: {stdout}");
        all.extend(differences(&name, &report, &expected));
    }
    assert!(all.is_empty(), "\n{}", all.join("\n"));
}

#[test]
fn every_log_check_fires_on_some_sample_with_the_lines_that_show_it() {
    let mut fired = BTreeSet::new();
    for name in names() {
        let (_, stdout, _) = explain(&["--nccl-log", &format!("{name}.log"), "--json"], b"");
        let report: Value = serde_json::from_str(&stdout).unwrap();
        let log = std::fs::read(fixtures().join(format!("nccl-logs/{name}.log"))).unwrap();
        let log = String::from_utf8_lossy(&log).into_owned();
        let lines: Vec<&str> = log.lines().collect();
        for found in report["findings"].as_array().unwrap() {
            fired.insert(found["id"].as_str().unwrap().to_owned());
            let evidence = found["evidence"].as_array().unwrap();
            let shown: Vec<&Value> = evidence
                .iter()
                .filter(|seen| seen["source"].as_str().unwrap().starts_with("line "))
                .collect();
            assert!(!shown.is_empty(), "{name}: {found}");
            for seen in shown {
                let number: usize = seen["source"].as_str().unwrap()["line ".len()..]
                    .parse()
                    .unwrap();
                let text = seen["value"].as_str().unwrap().trim_end_matches('…');
                assert!(lines[number - 1].contains(text), "{name}:{number}: {text}");
            }
        }
    }
    // This one needs captures.
    fired.insert("nccl-single-rail".to_owned());
    let log = checks::all().filter(|check| check.run.log);
    let declared: BTreeSet<String> = log.map(|check| check.id.to_owned()).collect();
    assert_eq!(fired, declared);
}

#[test]
fn what_a_person_sees() {
    let (code, stdout, stderr) = explain(&["--nccl-log", "completion-12-2.28.log"], b"");
    assert_eq!((code, stderr.as_str()), (1, ""));
    insta::assert_snapshot!(stdout);
    let (_, stdout, _) = explain(&["--nccl-log", "no-ib-device.log"], b"");
    assert!(stdout.starts_with("RDMA: no."), "{stdout}");
    let (code, stdout, _) = explain(&["--nccl-log", "version-2.28.log"], b"");
    assert!(
        code == 0 && stdout.starts_with("RDMA: yes, through host memory"),
        "{stdout}"
    );
    let (_, stdout, _) = explain(&["--nccl-log", "one-node-socket.log"], b"");
    assert!(stdout.starts_with("One node"), "{stdout}");
    let (code, stdout, _) = explain(&["--nccl-log", "no-nccl.log"], b"");
    assert!(
        code == 2 && stdout.starts_with("No line of NCCL's"),
        "{code}: {stdout}"
    );
}

#[test]
fn standard_input_is_a_log_too() {
    let log = std::fs::read(fixtures().join("nccl-logs/socket-fallback.log")).unwrap();
    let (code, stdout, _) = explain(&["--nccl-log", "-", "--json"], &log);
    let report: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!((code, &report["transport"]), (1, &Value::from("socket")));
}

#[test]
fn a_hostile_log_cannot_talk_to_the_terminal() {
    let log =
        b"a:1:2 [0] NCCL INFO Using network \x1b]0;owned\x07\xffSocket\nNCCL version 2.1\x1b[2J\n";
    let (_, stdout, _) = explain(&["--nccl-log", "-"], log);
    assert!(!stdout.contains(['\u{1b}', '\u{7}']), "{stdout:?}");
}

#[test]
fn the_published_schema_is_current_and_holds() {
    let schema = Schema::published("explain");
    for name in ["mixed-channels.log", "no-nccl.log"] {
        let (_, json, _) = explain(&["--nccl-log", name, "--json"], b"");
        schema
            .allows(&serde_json::from_str(&json).unwrap())
            .unwrap();
    }
}

#[test]
fn faults_are_listed_and_explained_by_name() {
    let (code, list, _) = explain(&[], b"");
    assert_eq!(code, 0);
    for check in checks::all() {
        assert!(
            list.contains(check.id) && list.contains(check.title),
            "{}",
            check.id
        );
        let (code, page, _) = explain(&[check.id], b"");
        assert!(code == 0 && page.starts_with(check.id), "{page}");
    }
    let (code, stdout, stderr) = explain(&["nccl-socket-falback"], b"");
    assert_eq!((code, stdout.as_str()), (2, ""));
    assert!(stderr.contains("nccl-socket-fallback"), "{stderr}");
}

#[test]
fn mistakes_are_answered_with_what_to_do() {
    for (arguments, words) in [
        (&["--nccl-log", "nowhere.log"][..], "nowhere.log"),
        (
            &["--nccl-log", "no-nccl.log", "--from", "nowhere"],
            "nowhere",
        ),
        (&["no-such-thing-at-all"], "lists them all"),
        (&["nccl-qp-timeout", "--json"], "--json"),
    ] {
        let (code, stdout, stderr) = explain(arguments, b"");
        assert_eq!(code, 2, "{arguments:?}");
        // A program that asked for JSON is told in JSON.
        let is_json = arguments.contains(&"--json");
        assert_eq!(!stdout.is_empty(), is_json, "{arguments:?}: {stdout}");
        assert!(stderr.contains(words), "{arguments:?}: {stderr}");
    }
}
