//! `crosstie doctor` as a person and as a program would run it.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use crosstie_node::capture;
use serde_json::Value;

use crate::common::{
    cases::{Case, lines, load},
    command,
};

fn doctor(arguments: &[&str]) -> (i32, String, String) {
    command::crosstie("", &[&["doctor"], arguments].concat())
}

/// Writes a case as the captures that it stands for; the arguments that diagnose them.
fn captured(case: &Case, directory: &Path) -> Vec<String> {
    let captures = directory.join("captures");
    std::fs::create_dir(&captures).unwrap();
    for (index, node) in case.node.iter().enumerate() {
        if let Some(mut earlier) = node.earlier() {
            "2026-11-01T11:59:58Z".clone_into(&mut earlier.meta.captured);
            capture::write(&earlier, &captures.join(format!("{index}-before.tar.gz"))).unwrap();
        }
        capture::write(&node.raw(), &captures.join(format!("{index}-now.tar.gz"))).unwrap();
    }
    let mut arguments = vec!["--from".to_owned(), captures.display().to_string()];
    if let Some(cluster) = &case.cluster {
        let path = directory.join("cluster.toml");
        std::fs::write(&path, cluster).unwrap();
        arguments.extend(["--cluster".to_owned(), path.display().to_string()]);
    }
    arguments
}

/// `HOST SEVERITY ID SUBJECT`, sorted, from the JSON.
fn json_lines(json: &str) -> Vec<String> {
    let value: Value = serde_json::from_str(json).unwrap();
    let line = |host: &str, finding: &Value| {
        let text = |key: &str| finding[key].as_str().unwrap().to_owned();
        format!(
            "{host} {} {} {}",
            text("severity"),
            text("id"),
            text("subject")
        )
    };
    let mut lines = Vec::new();
    for node in value["nodes"].as_array().unwrap() {
        let host = node["host"].as_str().unwrap();
        lines.extend(
            node["findings"]
                .as_array()
                .unwrap()
                .iter()
                .map(|found| line(host, found)),
        );
    }
    let cluster = value["cluster"].as_array().unwrap();
    lines.extend(cluster.iter().map(|found| line("cluster", found)));
    lines.sort();
    lines
}

#[test]
fn cases_written_as_captures_give_the_same_findings_and_the_exit_status() {
    for (file, cases) in load("faults").into_iter().chain(load("healthy")) {
        // No capture stands for a node that does not answer.
        for case in cases.into_iter().filter(|case| case.unread.is_empty()) {
            let directory = tempfile::tempdir().unwrap();
            let mut arguments = captured(&case, directory.path());
            arguments.push("--json".to_owned());
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            let (code, stdout, stderr) = doctor(&arguments);
            let found = json_lines(&stdout);
            assert_eq!(
                found,
                lines(&case.diagnose()),
                "{file}: {}\n{stderr}",
                case.name
            );
            let faults = found
                .iter()
                .any(|line| line.split(' ').nth(1) == Some("fault"));
            assert_eq!(code, i32::from(faults), "{file}: {}", case.name);
        }
    }
}

#[test]
fn the_published_schema_is_current_and_holds() {
    let schema = command::Schema::published("doctor");
    let (_, json, _) = doctor(&["--from", "nodes", "--json"]);
    schema
        .allows(&serde_json::from_str(&json).unwrap())
        .unwrap();
}

#[test]
fn checks_are_chosen_by_id_and_a_typo_is_told() {
    let sick = ["--from", "nodes/spark-twins-same-subnet", "--json"];
    let with = |more: &[&'static str]| doctor(&[&sick, more].concat());
    let (code, stdout, _) = with(&["--only", "twins-same-subnet"]);
    assert_eq!(code, 1, "{stdout}");
    assert_eq!(json_lines(&stdout).len(), 1);
    let (_, stdout, _) = with(&["--skip", "twins-same-subnet"]);
    assert!(!stdout.contains("\"twins-same-subnet\""), "{stdout}");
    let (code, _, stderr) = with(&["--only", "twin-same-subnet"]);
    assert_eq!(code, 2);
    assert!(stderr.contains("twins-same-subnet"), "{stderr}");
}

#[test]
fn a_person_reads_what_where_why_and_what_to_do() {
    let (code, stdout, _) = doctor(&["--from", "nodes/spark-twins-same-subnet"]);
    assert_eq!(code, 1);
    for part in [
        "spark-c",
        "fault",
        "twins-same-subnet",
        "cause",
        "fix",
        "crosstie explain",
    ] {
        assert!(stdout.contains(part), "no {part} in\n{stdout}");
    }
    let (_, markdown, _) = doctor(&["--from", "nodes/spark-twins-same-subnet", "--markdown"]);
    assert!(
        markdown.contains("### fault: twins-same-subnet"),
        "{markdown}"
    );
}

#[test]
fn quick_answers_in_time_and_a_dead_node_holds_up_nobody() {
    let started = Instant::now();
    // An address of the documentation range: nothing answers, or nothing is routed there.
    let (code, stdout, _) = doctor(&["--quick", "--json", ".", "203.0.113.1"]);
    // Promised are 3 seconds; the slack is for a busy machine.
    assert!(
        started.elapsed() < Duration::from_secs(6),
        "{:?}",
        started.elapsed()
    );
    assert_eq!(code, 2);
    let value: Value = serde_json::from_str(&stdout).unwrap();
    assert!(value["nodes"][0].get("error").is_none(), "{stdout}");
    assert_eq!(value["nodes"][1]["host"], "203.0.113.1");
    assert!(value["nodes"][1]["error"].is_string(), "{stdout}");
}

#[test]
fn a_check_that_needs_more_than_facts_says_so() {
    for (id, needs) in [
        ("pair-slow", "needs a measurement: `crosstie prove`"),
        ("nccl-socket-fallback", "needs an NCCL log"),
    ] {
        let (code, stdout, stderr) = doctor(&["--from", "nodes", "--only", id]);
        assert_eq!((code, stdout.as_str()), (2, ""), "{stderr}");
        assert!(stderr.contains(id) && stderr.contains(needs), "{stderr}");
        let (_, page, _) = command::crosstie("", &["explain", id]);
        assert!(page.contains("The doctor alone cannot tell"), "{page}");
    }
    // One of them shows in counters, too.
    let (code, _, stderr) = doctor(&["--from", "nodes", "--only", "link-errors-growing"]);
    assert_eq!(code, 0, "{stderr}");
}
