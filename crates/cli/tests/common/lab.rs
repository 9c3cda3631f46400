//! What tests on labs have in common.

use std::{process::Output, time::Duration};

use crosstie_lab::Lab;
use serde_json::Value;

/// For one command on an emulated node of a busy machine.
pub const ASK: Duration = Duration::from_secs(180);

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
