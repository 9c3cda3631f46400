//! The table of checks, the catalogue in the guide, and the pages made from the table agree.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::PathBuf,
};

use crosstie_doctor::{Check, CheckInput, checks, explain::page};

use crate::common::{cases, samples};

fn pages() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/checks")
}

/// Of each row of the catalogue: id → scope, where the section does not give it: `log` or `run`.
fn catalogue() -> BTreeMap<String, String> {
    let text = fs::read_to_string(pages().join("index.md")).unwrap();
    let mut section = "";
    let mut rows = BTreeMap::new();
    for line in text.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            section = title;
        }
        let Some(row) = line.strip_prefix("| [") else {
            continue;
        };
        let id = row.split(']').next().unwrap().to_owned();
        let scope = match section {
            title if title.starts_with("NCCL logs") => "log",
            title if title.starts_with("From measurements") => "run",
            _ => row.split(" | ").nth(2).unwrap().trim(),
        };
        assert_eq!(
            rows.insert(id.clone(), scope.to_owned()),
            None,
            "{id} twice"
        );
    }
    rows
}

#[test]
fn ids_are_unique() {
    let ids: BTreeSet<&str> = checks::all().map(|check| check.id).collect();
    assert_eq!(ids.len(), checks::all().count());
}

#[test]
fn every_row_of_the_catalogue_is_a_check_and_every_check_a_row() {
    let rows: BTreeSet<(String, String)> = catalogue().into_iter().collect();
    let table: BTreeSet<(String, String)> = checks::all()
        .map(|check| (check.id.to_owned(), check.scope().to_owned()))
        .collect();
    let missing: Vec<_> = rows.difference(&table).collect();
    let unknown: Vec<_> = table.difference(&rows).collect();
    assert!(missing.is_empty(), "not implemented: {missing:?}");
    assert!(unknown.is_empty(), "not in the catalogue: {unknown:?}");
}

#[test]
fn every_check_has_cases_that_fire_it() {
    let cases = cases::load("faults");
    let logs = log_expectations();
    for check in checks::all() {
        let names = |line: &str| line.split(' ').any(|word| word == check.id);
        let fired = match check.needs() {
            Some(CheckInput::Measurement | CheckInput::LaterMeasurement) => true,
            Some(CheckInput::Log) => logs.lines().any(names),
            None => cases.get(check.id).is_some_and(|cases| {
                let mut lines = cases.iter().flat_map(|case| &case.expect);
                lines.any(|line| names(line))
            }),
        };
        assert!(fired, "no case in fixtures/ fires {}", check.id);
    }
}

/// What every sample log should raise, quotation marks taken away.
fn log_expectations() -> String {
    let folder = samples::fixtures().join("nccl-logs");
    let files = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|end| end == "toml"));
    let text: String = files
        .map(|path| fs::read_to_string(path).unwrap())
        .collect();
    text.replace('"', " ")
}

#[test]
fn every_text_is_there() {
    for check in checks::all() {
        let Check {
            id,
            title,
            severity,
            fires,
            reads,
            cause,
            meaning,
            fix,
            verify,
            explained_by,
            run: _,
        } = check;
        for explains in *explained_by {
            assert!(
                checks::find(explains.id).is_some(),
                "{id} would be explained by {}, which is no check",
                explains.id
            );
        }
        for text in [title, severity, fires, cause, meaning, fix, verify] {
            assert!(!text.trim().is_empty(), "{id} lacks a text");
        }
        assert!(!reads.is_empty(), "{id} reads nothing");
        assert!(!title.ends_with('.'), "{id}: a title has no full stop");
    }
}

/// `make docs` writes them.
#[test]
fn pages_are_current() {
    let write = std::env::var_os("CROSSTIE_WRITE_PAGES").is_some();
    let mut wanted: BTreeSet<String> = BTreeSet::from(["index.md".to_owned()]);
    for check in checks::all() {
        let name = format!("{}.md", check.id);
        let path = pages().join(&name);
        if write {
            fs::write(&path, page(check)).unwrap();
        }
        let found = fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(found, page(check), "docs/checks/{name} is stale: make docs");
        wanted.insert(name);
    }
    for entry in fs::read_dir(pages()).unwrap() {
        let name = entry.unwrap().file_name().to_string_lossy().into_owned();
        assert!(
            wanted.contains(&name),
            "docs/checks/{name} belongs to no check"
        );
    }
}
