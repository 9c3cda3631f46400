//! `crosstie prove` on a lab.

use std::{
    path::Path,
    process::{Command, Output},
};

use serde_json::Value;

use super::{sshd::crosstie, ups::Proven};

/// With a state folder of its own, so that runs of one test are no other's.
pub(crate) fn command(proven: &Proven, state: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(crosstie());
    command
        .args(["prove", "--json", "--sudo", "--cluster"])
        .arg(&proven.cluster)
        .arg("--ssh-config")
        .arg(proven.lab.ssh_config())
        .args(arguments)
        .env("XDG_STATE_HOME", state);
    command
}

pub(crate) fn prove(proven: &Proven, state: &Path, arguments: &[&str]) -> Output {
    command(proven, state, arguments).output().unwrap()
}

/// What it printed; it must be JSON.
pub(crate) fn told(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)))
}

/// Faults and warnings that nothing explains, but for the clock: a lab has no way out, and so no time service.
pub(crate) fn roots(found: &Value) -> Vec<String> {
    let findings = found["findings"].as_array().unwrap().iter();
    let roots = findings
        .filter(|one| one["caused_by"].is_null() && one["severity"] != "info")
        .filter_map(|one| one["id"].as_str())
        .filter(|id| *id != "clock-unsynchronised");
    let mut roots: Vec<String> = roots.map(str::to_owned).collect();
    roots.sort();
    roots.dedup();
    roots
}

/// Rows of a kind.
pub(crate) fn rows<'a>(found: &'a Value, kind: &str) -> Vec<&'a Value> {
    let pairs = found["pairs"].as_array().unwrap().iter();
    pairs.filter(|pair| pair["kind"] == kind).collect()
}
