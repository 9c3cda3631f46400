//! `crosstie up` on all nodes of a lab.

use std::{
    path::Path,
    process::{Command, Output, Stdio},
};

use crosstie_lab::Lab;

use crate::common::{
    changes::answers,
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
