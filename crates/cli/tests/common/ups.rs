//! `crosstie up` on all nodes of a lab.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use crosstie_lab::{Lab, LabLease};
use serde_json::Value;

use super::{
    changes::{answers, shape},
    lab::machines_at,
    sshd::{crosstie, typed},
};

/// Writes `cluster.toml`, and what it keeps for itself, into the directory.
pub(crate) fn up(lab: &Lab, directory: &Path) -> Command {
    let mut command = Command::new(crosstie());
    command
        .arg("up")
        .args(nodes(lab))
        .arg("-o")
        .arg(directory.join("cluster.toml"))
        .arg("--ssh-config")
        .arg(lab.ssh_config())
        .args(["--yes", "--become-password-fd", "0"])
        .env("XDG_STATE_HOME", directory)
        .stdin(typed(lab.password()))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

pub(crate) fn assert_up(output: &Output) {
    let said = [&output.stdout[..], &output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert_eq!(output.status.code(), Some(0), "{said}");
}

pub(crate) fn nodes(lab: &Lab) -> Vec<&str> {
    let nodes = lab.profile().nodes.iter();
    nodes.map(|node| node.name.as_str()).collect()
}

/// Every node reaches every other that it shares a cable or a switch with.
pub(crate) fn all_answer(lab: &Lab) {
    for segment in &lab.profile().segments {
        let nodes: Vec<&str> = segment.ends.iter().map(|end| end.node.as_str()).collect();
        for from in &nodes {
            for to in nodes.iter().filter(|to| *to != from) {
                answers(lab, from, to);
            }
        }
    }
}

pub(crate) const AFTER_UP: &str = "after-up";

/// Two Sparks that `crosstie up` has brought up: by the first test that asks, and kept for the others.
pub(crate) struct Proven {
    pub(crate) lab: LabLease,
    pub(crate) cluster: PathBuf,
    /// What `up --json` printed.
    pub(crate) told: Value,
    /// What each node was before.
    pub(crate) before: Vec<String>,
}

pub(crate) fn proven_two_sparks() -> Proven {
    let lab = machines_at("two-sparks", AFTER_UP);
    // Beside the lab, so that it goes with it.
    let directory = lab.directory().join(AFTER_UP);
    let record = directory.join("record.json");
    if !lab.has_kept(AFTER_UP) {
        fs::create_dir_all(&directory).unwrap();
        let before: Vec<String> = nodes(&lab).iter().map(|node| shape(&lab, node)).collect();
        let output = up(&lab, &directory)
            .args(["--json", "--no-measure"])
            .output()
            .unwrap();
        assert_up(&output);
        let told: Value = serde_json::from_slice(&output.stdout).unwrap();
        fs::write(&record, serde_json::to_vec(&(told, before)).unwrap()).unwrap();
        lab.save_all(AFTER_UP).unwrap();
    }
    let (told, before) = serde_json::from_slice(&fs::read(record).unwrap()).unwrap();
    Proven {
        cluster: directory.join("cluster.toml"),
        lab,
        told,
        before,
    }
}
