//! Every JSON output keeps its schema, errors included; and no schema lets pass what it does not name.

use serde_json::Value;

use crate::common::command::{Schema, crosstie};

/// Those of outputs; the cluster file's is closed by its own type.
const OUTPUTS: [&str; 23] = [
    "scan",
    "doctor",
    "discover",
    "explain",
    "plan",
    "init",
    "apply",
    "status",
    "bench",
    "prove",
    "report",
    "compare",
    "up",
    "trust",
    "env",
    "error",
    "cluster",
    "lab-list",
    "lab-fault",
    "launch",
    "launch-plan",
    "launch-status",
    "launch-stop",
];

/// Objects that name properties and allow others.
fn open_objects(path: &str, schema: &Value, found: &mut Vec<String>) {
    match schema {
        Value::Object(object) => {
            let names = object.get("properties").is_some_and(Value::is_object);
            if names && object.get("additionalProperties") != Some(&Value::Bool(false)) {
                found.push(path.to_owned());
            }
            for (name, value) in object {
                open_objects(&format!("{path}/{name}"), value, found);
            }
        }
        Value::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                open_objects(&format!("{path}/{index}"), value, found);
            }
        }
        _ => {}
    }
}

#[test]
fn no_schema_is_forgotten() {
    let (code, help, _) = crosstie(".", &["schema", "--help"]);
    assert_eq!(code, 0);
    let listed = help.lines().filter_map(|line| {
        let (name, _) = line.trim().strip_prefix("- ")?.split_once(':')?;
        Some(name.to_owned())
    });
    let mut listed: Vec<String> = listed.collect();
    listed.sort();
    let mut known = OUTPUTS.map(str::to_owned);
    known.sort();
    assert_eq!(listed, known, "{help}");
}

#[test]
fn schemas_are_closed_and_objects_have_a_format() {
    for name in OUTPUTS {
        Schema::published(name);
        let (_, printed, _) = crosstie(".", &["schema", name]);
        let schema: Value = serde_json::from_str(&printed).unwrap();
        let mut open = Vec::new();
        open_objects("", &schema, &mut open);
        assert!(open.is_empty(), "{name}: {open:#?}");
        let is_list = schema["type"] == "array";
        let has_format = schema["properties"].get("format").is_some();
        assert!(is_list || has_format, "{name}");
        let text = schema.to_string();
        assert!(
            name == "cluster" || !text.contains("\"node\":{\"type\""),
            "{name}: a node is `host`"
        );
    }
}

fn allowed(schema: &str, folder: &str, arguments: &[&str]) -> (i32, Value) {
    let (code, stdout, stderr) = crosstie(folder, arguments);
    let value = serde_json::from_str(&stdout)
        .unwrap_or_else(|error| panic!("{arguments:?}: {error}: {stdout} {stderr}"));
    let valid = Schema::published(schema).allows(&value);
    valid.unwrap_or_else(|error| panic!("{arguments:?}: {error}: {value:#}"));
    (code, value)
}

#[test]
fn what_is_printed_of_captures_keeps_its_schema() {
    let outputs: [(&str, &[&str]); 5] = [
        ("scan", &["scan", "--from", "nodes", "--json"]),
        ("scan", &["scan", "--from", "nodes", "--json", "--facts"]),
        ("doctor", &["doctor", "--from", "nodes", "--json"]),
        ("scan", &["scan", "--from", "nodes/spark-healthy", "--json"]),
        (
            "doctor",
            &[
                "doctor",
                "--from",
                "nodes/spark-twins-same-subnet",
                "--json",
            ],
        ),
    ];
    for (schema, arguments) in outputs {
        allowed(schema, ".", arguments);
    }
}

#[test]
fn what_cannot_be_done_is_an_object_too() {
    let empty = tempfile::tempdir().unwrap();
    let folder = empty.path().to_str().unwrap();
    let failures: [&[&str]; 21] = [
        &["up", ".", "--json"],
        &["apply", "--json"],
        &["plan", "--json"],
        &["rollback", "--json"],
        &["uninstall", ".", "--json"],
        &["scan", "--from", "nowhere", "--json"],
        &["doctor", "--from", "nowhere", "--json"],
        &["explain", "--nccl-log", "nowhere", "--json"],
        &["report", "nowhere", "--json"],
        &["scan", "--json", "--no-such-option"],
        &["init", "--json"],
        &["status", "--lab", "nowhere", "--json"],
        &["prove", "--json"],
        &["prove", "--json", "--lab", "nowhere"],
        &["bench", "root@127.0.0.1:1", "root@127.0.0.1:2", "--json"],
        &["env", "spark-a", "--json"],
        &["trust", "--lab", "nowhere", "--json"],
        &["scan", "--discover", "--lab", "nowhere", "--json"],
        &["doctor", "--only", "none-such", "--json"],
        &["report", "nowhere", "elsewhere", "--json"],
        &["lab", "fault", "--show", "--name", "nowhere"],
    ];
    for arguments in failures {
        let (code, value) = allowed("error", folder, arguments);
        assert_eq!(code, 2, "{arguments:?}: {value:#}");
        assert!(!value["error"].as_str().unwrap().is_empty(), "{value:#}");
    }
    let (_, value) = allowed("error", folder, &["up", ".", "--json"]);
    let error = value["error"].as_str().unwrap();
    assert!(error.contains("--yes"), "{error}");
}
