//! `crosstie init` on the nodes of a lab.

use std::{
    path::Path,
    process::{Command, Output},
};

use crosstie_lab::{Lab, LabKind};
use serde_json::Value;

use crate::common::{
    changes::keeps_its_schema,
    sshd::{crosstie, typed},
};

pub(crate) fn init(lab: &Lab, nodes: &[&str], file: &Path, arguments: &[&str]) -> Output {
    // An emulated node needs a while to bring its links up.
    let listen = match lab.kind() {
        LabKind::Machines => "20",
        LabKind::Containers => "4",
    };
    Command::new(crosstie())
        .arg("init")
        .args(nodes)
        .arg("--ssh-config")
        .arg(lab.ssh_config())
        .arg("-o")
        .arg(file)
        .args(["--become-password-fd", "0", "--listen", listen])
        .args(arguments)
        .stdin(typed(lab.password()))
        .output()
        .unwrap()
}

pub(crate) fn json(lab: &Lab, nodes: &[&str], file: &Path) -> Value {
    let output = init(lab, nodes, file, &["--json"]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{errors}");
    let found = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{errors}"));
    keeps_its_schema("init", &found);
    found
}

/// `a b` for cables, `port plane` for switches, in order.
pub(crate) fn cables(found: &Value) -> Vec<String> {
    let text = |cable: &Value, key: &str| cable[key].as_str().map(str::to_owned);
    let cable = |cable: &Value| {
        let first = text(cable, "a").or_else(|| text(cable, "port")).unwrap();
        let second = text(cable, "b").or_else(|| text(cable, "plane")).unwrap();
        format!("{first} {second}")
    };
    found["cables"]
        .as_array()
        .unwrap()
        .iter()
        .map(cable)
        .collect()
}

/// `kind port port` for each note of these kinds.
pub(crate) fn notes(found: &Value, kinds: &[&str]) -> Vec<String> {
    let notes = found["notes"].as_array().unwrap().iter();
    let notes = notes.filter(|note| kinds.contains(&note["kind"].as_str().unwrap()));
    notes
        .map(|note| {
            let ports = note["ports"].as_array().unwrap().iter();
            let ports: Vec<&str> = ports.map(|port| port.as_str().unwrap()).collect();
            format!("{} {}", note["kind"].as_str().unwrap(), ports.join(" "))
        })
        .collect()
}
