//! `crosstie launch torchrun --dry-run` on the sample nodes: what would run, without a node in reach.

use serde_json::Value;

use crate::common::command::{Schema, crosstie};

fn dry_run(engine: &[&str], more: &[&str]) -> (i32, String, String) {
    let nodes = ["--from", "nodes", "--cluster", "clusters/pair.toml"];
    let (engine, behind) = engine.split_at(
        engine
            .iter()
            .position(|word| *word == "--")
            .unwrap_or(engine.len()),
    );
    let arguments = [&["launch"], engine, &["--dry-run"], &nodes, more, behind].concat();
    crosstie("", &arguments)
}

#[test]
fn what_a_person_sees() {
    let (code, stdout, stderr) = dry_run(
        &["torchrun", "train.py", "--", "--text", "it's $HOME"],
        &["--set", "HF_TOKEN=hf_secret"],
    );
    assert_eq!(code, 0, "{stderr}");
    assert!(!stdout.contains("hf_secret"), "{stdout}");
    insta::assert_snapshot!(stdout);
}

#[test]
fn every_engine_is_json_of_its_schema() {
    let engines: [&[&str]; 3] = [
        &["torchrun", "train.py"],
        &["mpirun", "--", "./ring"],
        &["llama", "model.gguf", "--", "-t", "1"],
    ];
    for engine in engines {
        let (code, stdout, stderr) = dry_run(engine, &["--json"]);
        assert_eq!(code, 0, "{stderr}");
        let plan: Value = serde_json::from_str(&stdout).unwrap();
        Schema::published("launch-plan").allows(&plan).unwrap();
        let hosts: Vec<&str> = plan["ranks"]
            .as_array()
            .unwrap()
            .iter()
            .map(|rank| rank["host"].as_str().unwrap())
            .collect();
        assert_eq!(hosts, ["spark-a", "spark-b"]);
    }
}

#[test]
fn llamas_servers_listen_on_the_fabric_alone() {
    let (_, stdout, _) = dry_run(&["llama", "model.gguf"], &["--json", "--head", "spark-b"]);
    let plan: Value = serde_json::from_str(&stdout).unwrap();
    let server = &plan["ranks"][1];
    assert_eq!(server["host"], "spark-a");
    let listens = server["listens"].as_str().unwrap();
    // The cluster file's pool.
    assert!(listens.starts_with("10.77."), "{listens}");
    let arguments = plan["ranks"][0]["command"]["arguments"].to_string();
    assert!(arguments.contains(listens), "{arguments}");
}

#[test]
fn what_cannot_be_started_is_said() {
    let (code, _, stderr) = dry_run(&["llama", "m.gguf"], &["--head", "stranger"]);
    assert_eq!(code, 2);
    assert!(
        stderr.contains("stranger is none of the job's nodes"),
        "{stderr}"
    );
    let (code, _, stderr) = crosstie("", &["launch", "mpirun", "--dry-run"]);
    assert_eq!(code, 2);
    assert!(stderr.contains("<CMD>"), "{stderr}");
    let (code, _, stderr) = dry_run(&["torchrun", "train.py"], &["--set", "1X=2"]);
    assert_eq!(code, 2);
    assert!(stderr.contains("1X=2"), "{stderr}");
    // Captures cannot be started.
    let arguments = ["launch", "torchrun", "train.py", "--from", "nodes"];
    assert_eq!(crosstie("", &arguments).0, 2);
}
