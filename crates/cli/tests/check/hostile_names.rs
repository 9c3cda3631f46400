//! Names that a node chose are one word, and no more, in any command that is offered for pasting.

use std::collections::BTreeSet;

use crosstie_doctor::{DoctorInput, NodeInput, diagnose};
use crosstie_facts::facts;
use crosstie_model::{ClusterSpec, Facts};
use serde_json::Value;

use crate::common::{cases::load, command, samples};

const HOSTILE: [&str; 2] = ["; rm -rf ~", "$(id)"];

/// What a shell would see outside of single quotes.
fn unquoted(line: &str) -> String {
    let mut seen = String::new();
    let (mut quoted, mut letters) = (false, line.chars());
    while let Some(letter) = letters.next() {
        match letter {
            '\'' => quoted = !quoted,
            '\\' if !quoted => drop(letters.next()),
            letter if !quoted => seen.push(letter),
            _ => {}
        }
    }
    seen
}

fn rename(value: &mut Value, names: &BTreeSet<String>, hostile: &str) {
    match value {
        Value::String(text) if names.contains(text) => text.push_str(hostile),
        Value::Array(elements) => elements
            .iter_mut()
            .for_each(|element| rename(element, names, hostile)),
        Value::Object(fields) => fields
            .values_mut()
            .for_each(|field| rename(field, names, hostile)),
        _ => {}
    }
}

/// The same node, whose interfaces and devices have names that end so.
fn renamed(facts: &Facts, hostile: &str, host_too: bool) -> Facts {
    let interfaces = facts.network.interfaces.iter().map(|found| &found.name);
    let devices = facts.rdma.iter().map(|found| &found.name);
    let mut names: BTreeSet<String> = interfaces.chain(devices).cloned().collect();
    names.remove("lo");
    if host_too {
        names.insert(facts.host.name.clone());
    }
    let mut value = serde_json::to_value(facts).unwrap();
    rename(&mut value, &names, hostile);
    serde_json::from_value(value).unwrap()
}

/// A program and its arguments, rather than a file.
fn is_command(source: &str) -> bool {
    let first = source.split(' ').next().unwrap_or_default();
    source.contains(' ') && first.chars().all(|c| c.is_ascii_lowercase() || c == '-')
}

fn assert_quoted(line: &str, place: &str) {
    let seen = unquoted(line);
    for hostile in HOSTILE {
        assert!(!seen.contains(hostile), "{place}: {line}");
    }
}

#[test]
fn a_fix_quotes_the_names_of_a_node() {
    let mut with_names = 0;
    for (file, cases) in load("faults") {
        for case in cases {
            let spec = case
                .cluster
                .as_deref()
                .map(|text| ClusterSpec::from_toml(text).unwrap());
            for hostile in HOSTILE {
                let bend = |raw| renamed(&facts(&raw), hostile, spec.is_none());
                let nodes: Vec<_> = case
                    .node
                    .iter()
                    .map(|node| (bend(node.raw()), node.earlier().map(bend)))
                    .collect();
                let patients: Vec<NodeInput> = nodes
                    .iter()
                    .map(|(facts, earlier)| NodeInput {
                        facts,
                        earlier: earlier.as_ref(),
                        clock: None,
                    })
                    .collect();
                let diagnosis = diagnose(&DoctorInput {
                    patients: &patients,
                    spec: spec.as_ref(),
                    ..DoctorInput::default()
                });
                let text = serde_json::to_value(&diagnosis).unwrap();
                let mut lines = Vec::new();
                commands(&text, &mut lines);
                with_names += lines.iter().filter(|line| line.contains(hostile)).count();
                for line in &lines {
                    assert_quoted(line, &file);
                }
            }
        }
    }
    assert!(
        with_names > 50,
        "only {with_names} commands had such a name"
    );
}

/// Every `commands` and every `source` that is a command, wherever they are.
fn commands(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (key, field) in fields {
                match (key.as_str(), field) {
                    ("commands", Value::Array(lines)) => {
                        found.extend(lines.iter().filter_map(Value::as_str).map(str::to_owned));
                    }
                    ("source", Value::String(source)) if is_command(source) => {
                        found.push(source.clone());
                    }
                    _ => commands(field, found),
                }
            }
        }
        Value::Array(elements) => elements.iter().for_each(|element| commands(element, found)),
        _ => {}
    }
}

/// The last line of a screen is for pasting.
#[test]
fn a_captures_name_is_quoted_in_the_next_command() {
    for hostile in HOSTILE {
        let folder = tempfile::tempdir().unwrap();
        let mut raw = samples::raw("spark-healthy");
        raw.meta.host = format!("x{hostile}");
        let path = folder.path().join(format!("a{hostile}.tar.gz"));
        crosstie_node::capture::write(&raw, &path).unwrap();
        let path = path.to_str().unwrap();
        let (_, screen, _) = command::crosstie(".", &["scan", "--from", path]);
        let next: Vec<&str> = screen
            .lines()
            .filter(|line| line.starts_with("Next: "))
            .collect();
        assert!(!next.is_empty(), "{screen}");
        for line in next {
            assert_quoted(line, "scan");
        }
    }
}

#[test]
fn quotes_are_understood() {
    assert_eq!(unquoted("a 'b; c' d"), "a  d");
    assert_eq!(unquoted(r"a 'x'\''; y' z"), "a  z");
    assert_eq!(unquoted("a $(id)"), "a $(id)");
}
