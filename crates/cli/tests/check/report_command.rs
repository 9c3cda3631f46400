//! `crosstie report`, from runs on disk.

use std::{fs, path::Path, process::Command};

use serde_json::Value;

use crate::{
    common::command::{Schema, command, crosstie, said},
    made_up,
};

fn report(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    let arguments: Vec<&str> = std::iter::once("report")
        .chain(arguments.iter().copied())
        .collect();
    let mut command: Command = command(folder, &arguments);
    command.env("XDG_STATE_HOME", folder.join("state"));
    said(command.output().unwrap())
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, run) in [
        ("healthy", made_up::two_sparks(false)),
        ("slow", made_up::two_sparks(true)),
    ] {
        fs::write(
            folder.path().join(name).with_extension("jsonl"),
            made_up::file(&run),
        )
        .unwrap();
    }
    folder
}

#[test]
fn a_run_becomes_one_file() {
    let folder = folder();
    let (code, told, stderr) = report(folder.path(), &["slow.jsonl"]);
    assert_eq!(code, 0, "{stderr}");
    assert!(told.contains("4 of 8 graded paths"), "{told}");
    assert!(told.contains("look first at"), "{told}");
    assert!(stderr.contains("report.html"), "{stderr}");
    let page = fs::read_to_string(folder.path().join("report.html")).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>"));
    let (code, printed, _) = report(folder.path(), &["slow.jsonl", "-o", "-"]);
    assert_eq!((code, printed), (0, page));
}

#[test]
fn the_newest_run_of_the_cluster_is_meant() {
    let folder = folder();
    let runs = folder.path().join("state/crosstie/sparks/runs");
    fs::create_dir_all(&runs).unwrap();
    let spec = "format = 1\nname = \"sparks\"\n";
    fs::write(folder.path().join("cluster.toml"), spec).unwrap();
    let (code, _, stderr) = report(folder.path(), &["--json"]);
    assert_eq!(code, 2);
    assert!(stderr.contains("prove"), "{stderr}");
    fs::copy(
        folder.path().join("slow.jsonl"),
        runs.join("2026-11-13T00-00-00Z.jsonl"),
    )
    .unwrap();
    fs::copy(
        folder.path().join("healthy.jsonl"),
        runs.join("2026-11-14T00-00-00Z.jsonl"),
    )
    .unwrap();
    let (code, json, stderr) = report(folder.path(), &["--json"]);
    assert_eq!(code, 0, "{stderr}");
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["summary"]["verdict"], "healthy");
    assert!(!folder.path().join("report.html").exists());
    // One that was interrupted before its first figure is not meant.
    let mut begun = made_up::two_sparks(true);
    begun.measurements.clear();
    fs::write(
        runs.join("2026-11-15T00-00-00Z.jsonl"),
        made_up::file(&begun),
    )
    .unwrap();
    let (code, json, stderr) = report(folder.path(), &["--json"]);
    assert_eq!(code, 0, "{stderr}");
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["summary"]["verdict"], "healthy");
}

#[test]
fn a_page_of_ones_own_is_not_replaced_unasked() {
    let folder = folder();
    let page = folder.path().join("report.html");
    let read = || fs::read_to_string(&page).unwrap();
    fs::write(&page, "<h1>my own page</h1>\n").unwrap();
    let (code, _, stderr) = report(folder.path(), &["slow.jsonl"]);
    assert_eq!((code, read().as_str()), (2, "<h1>my own page</h1>\n"));
    assert!(stderr.contains("-o"), "{stderr}");
    let (code, ..) = report(folder.path(), &["slow.jsonl", "-o", "report.html"]);
    assert_eq!(code, 0);
    let slow = read();
    let (code, ..) = report(folder.path(), &["healthy.jsonl"]);
    assert_eq!(code, 0);
    assert_ne!(read(), slow);
}

#[test]
fn json_keeps_its_schemas() {
    let folder = folder();
    for (schema, arguments) in [
        ("report", &["slow.jsonl", "--json"][..]),
        ("report", &["slow.jsonl", "--json", "--share"]),
        ("compare", &["healthy.jsonl", "slow.jsonl", "--json"]),
    ] {
        let (_, json, stderr) = report(folder.path(), arguments);
        let json: Value = serde_json::from_str(&json).unwrap_or_else(|_| panic!("{stderr}"));
        Schema::published(schema).allows(&json).unwrap();
        assert_eq!(json["format"], 1);
    }
}

#[test]
fn two_runs_are_compared() {
    let folder = folder();
    let (code, told, stderr) = report(
        folder.path(),
        &["healthy.jsonl", "slow.jsonl", "-o", "compared.html"],
    );
    assert_eq!(code, 1, "{stderr}");
    assert!(told.contains("8 figures got worse"), "{told}");
    assert!(told.contains("▼ slower"), "{told}");
    let page = fs::read_to_string(folder.path().join("compared.html")).unwrap();
    assert!(page.contains("8 figures got worse"));
    let (code, told, _) = report(folder.path(), &["slow.jsonl", "healthy.jsonl"]);
    assert_eq!(code, 0);
    assert!(told.contains("8 figures got better"), "{told}");
    let (code, told, _) = report(folder.path(), &["slow.jsonl", "slow.jsonl"]);
    assert_eq!(code, 0);
    assert!(told.contains("Nothing changed"), "{told}");
}

#[test]
fn a_shared_report_has_no_names_and_says_what_was_replaced() {
    let folder = folder();
    let (code, told, stderr) = report(
        folder.path(),
        &["slow.jsonl", "--share", "-o", "shared.html"],
    );
    assert_eq!(code, 0, "{stderr}");
    assert!(
        stderr.contains("replaced: 2 host names, 1 cluster name, 8 IP addresses"),
        "{stderr}"
    );
    let page = fs::read_to_string(folder.path().join("shared.html")).unwrap();
    for name in ["spark-a", "spark-b", "sparks", "192.168.17"] {
        assert!(!page.contains(name) && !told.contains(name), "{name}");
    }
    assert!(page.contains("node-1") && page.contains("Made to be shared"));
}

#[test]
fn a_run_that_was_tampered_with_is_refused() {
    let folder = folder();
    let path = folder.path().join("slow.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replacen("spark-a", "spark-x", 1)).unwrap();
    for arguments in [&["slow.jsonl"][..], &["healthy.jsonl", "slow.jsonl"]] {
        let (code, told, stderr) = report(folder.path(), arguments);
        assert_eq!((code, told.as_str()), (2, ""));
        assert!(
            stderr.contains("slow.jsonl") && stderr.contains("was changed or damaged"),
            "{stderr}"
        );
    }
    assert!(!folder.path().join("report.html").exists());
    let (code, _, stderr) = report(folder.path(), &["none.jsonl"]);
    assert_eq!(code, 2);
    assert!(stderr.contains("none.jsonl"), "{stderr}");
}

#[test]
fn a_hostile_run_cannot_talk_to_the_terminal() {
    let folder = folder();
    fs::write(
        folder.path().join("hostile.jsonl"),
        made_up::file(&made_up::hostile()),
    )
    .unwrap();
    for arguments in [&["hostile.jsonl"][..], &["healthy.jsonl", "hostile.jsonl"]] {
        let (_, told, stderr) = report(folder.path(), arguments);
        let controls =
            |text: &str| text.contains(|c: char| c != '\n' && c.is_control() || c == '\u{202e}');
        assert!(!controls(&told) && !controls(&stderr), "{told}{stderr}");
    }
}

#[test]
fn a_page_takes_the_place_of_no_run_and_no_device() {
    let folder = folder();
    let before = fs::read(folder.path().join("slow.jsonl")).unwrap();
    for output in ["slow.jsonl", "./slow.jsonl"] {
        let (code, _, stderr) = report(folder.path(), &["slow.jsonl", "-o", output]);
        assert_eq!(code, 2, "{stderr}");
        assert!(stderr.contains("the run itself"), "{stderr}");
    }
    let (code, _, stderr) = report(folder.path(), &["slow.jsonl", "-o", "/dev/null"]);
    assert_eq!(code, 2, "{stderr}");
    assert_eq!(fs::read(folder.path().join("slow.jsonl")).unwrap(), before);
    assert!(!fs::metadata("/dev/null").unwrap().is_file());
}

#[test]
fn a_missing_cluster_file_names_what_writes_one() {
    let empty = tempfile::tempdir().unwrap();
    for arguments in [
        &["report"][..],
        &["plan"],
        &["plan", "--cluster", "mine.toml"],
        &["status", "--cluster", "mine.toml"],
    ] {
        let (code, _, stderr) = crosstie(empty.path(), arguments);
        assert_eq!(code, 2, "{arguments:?}: {stderr}");
        assert!(stderr.contains("`crosstie init"), "{arguments:?}: {stderr}");
    }
}
