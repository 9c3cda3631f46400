//! What tests on labs have in common.

use std::{fs, process::Output, time::Duration};

use crosstie_lab::{Lab, LabProgram, Lease, lease, lease_at, lease_containers, profile::shipped};
use serde_json::Value;

use super::sshd::crosstie;

/// For one command on an emulated node of a busy machine.
pub const ASK: Duration = Duration::from_secs(180);

/// Machines with kernels and verbs of their own, one lab at a time.
pub fn machines(profile: &str) -> Lease {
    leased(lease(profile, LabProgram::crosstie(crosstie())))
}

/// The same, as an earlier test kept them under this name, if one did.
pub fn machines_at(profile: &str, snapshot: &str) -> Lease {
    leased(lease_at(
        profile,
        snapshot,
        LabProgram::crosstie(crosstie()),
    ))
}

/// Containers, the caller's own.
pub fn containers(profile: &str) -> Lease {
    leased(lease_containers(profile, LabProgram::crosstie(crosstie())))
}

/// Two Sparks, one of them in the conditions that `container` of a profile describes.
pub fn containers_with(node: &str, container: &str) -> Lease {
    let text = shipped("two-sparks").unwrap();
    let entry = format!("name = \"{node}\"\n");
    let changed = text.replace(&entry, &format!("{entry}container = {{ {container} }}\n"));
    assert_ne!(changed, text, "{node}");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("two-sparks.toml");
    fs::write(&file, changed).unwrap();
    containers(file.to_str().unwrap())
}

fn leased(lease: Result<Lease, crosstie_lab::LabError>) -> Lease {
    lease.unwrap_or_else(|error| panic!("{}", explain(&error)))
}

fn explain(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", explain(source)),
        None => error.to_string(),
    }
}

/// Runs a script as root on a node and wants success.
pub fn sh(lab: &Lab, node: &str, script: &str) -> String {
    sh_within(lab, node, script, ASK)
}

pub fn sh_within(lab: &Lab, node: &str, script: &str, deadline: Duration) -> String {
    let done = lab
        .exec_as_root(node, &["sh", "-c", script], deadline)
        .unwrap_or_else(|error| panic!("{error}; {}", lab.what_runs(node)));
    let said = [&done.stdout[..], &done.stderr].join("\n");
    assert_eq!(done.code, Some(0), "{node}: {script}\n{said}");
    done.stdout
}

/// What a scan said of two nodes; its exit status must fit.
pub fn told(output: &Output) -> [Value; 2] {
    let nodes: Vec<Value> = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {output:?}"));
    let failed = nodes.iter().any(|node| node["error"].is_string());
    let code = if failed { 2 } else { 0 };
    assert_eq!(output.status.code(), Some(code), "{nodes:#?}");
    nodes.try_into().unwrap()
}
