//! What tests on labs have in common.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Output},
    time::Duration,
};

use crosstie_lab::{
    Lab, LabLease, LabProgram, lease, lease_at, lease_containers, profile::shipped,
};
use crosstie_reach::binary::build_of;
use serde_json::Value;

use super::sshd::crosstie;

/// For one command on an emulated node of a busy machine.
pub const COMMAND_TIMEOUT: Duration = Duration::from_secs(180);

/// Machines with kernels and verbs of their own, one lab at a time.
pub fn machines(profile: &str) -> LabLease {
    leased(lease(profile, LabProgram::crosstie(crosstie())))
}

/// The same, as an earlier test kept them under this name, if one did.
pub fn machines_at(profile: &str, snapshot: &str) -> LabLease {
    leased(lease_at(
        profile,
        snapshot,
        LabProgram::crosstie(crosstie()),
    ))
}

/// Containers, the caller's own, which root's agent is laid into, and known there: what sends it has tests of its own, and
/// sending costs the others a fifth of their time.
pub fn containers(profile: &str) -> LabLease {
    let lab = bare_containers(profile);
    lay_agent(&lab);
    lab
}

/// Containers as a lab makes them.
pub fn bare_containers(profile: &str) -> LabLease {
    leased(lease_containers(profile, LabProgram::crosstie(crosstie())))
}

fn lay_agent(lab: &Lab) {
    let build = build_of(crosstie()).unwrap();
    let nodes = lab.profile().nodes.len();
    let mut laid = 0;
    for init in inits_of(lab) {
        let folder = init.join("root/var/lib/crosstie/bin");
        fs::create_dir_all(&folder).unwrap();
        let agent = folder.join(&build);
        fs::copy(crosstie(), &agent).unwrap();
        for path in [&folder, folder.parent().unwrap(), &agent] {
            fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
        }
        know_agent(&init.join("root/run/crosstie"), &agent);
        laid += 1;
    }
    assert_eq!(laid, nodes, "a node's first process was not found");
}

/// As `connect/bootstrap.sh` remembers an agent whose sum it has seen.
fn know_agent(folder: &Path, agent: &Path) {
    fs::create_dir_all(folder).unwrap();
    fs::set_permissions(folder, Permissions::from_mode(0o755)).unwrap();
    let mut stat = Command::new("stat");
    stat.args(["-c", "%d %i %s %y %z"]).arg(agent);
    let identity = stat.env("LC_ALL", "C").env("TZ", "UTC").output().unwrap();
    assert!(identity.status.success(), "{identity:?}");
    let name = agent.file_name().unwrap().to_str().unwrap();
    fs::write(folder.join(format!("agent-{name}")), identity.stdout).unwrap();
}

/// `/proc/PID` of the first process of each container.
fn inits_of(lab: &Lab) -> Vec<PathBuf> {
    let mark = format!("CROSSTIE_LAB_OF={}", lab.directory().display());
    let is_init = |process: &PathBuf| {
        let read = |file: &str| fs::read_to_string(process.join(file)).unwrap_or_default();
        let first = |line: &str| line.starts_with("NSpid:") && line.ends_with("\t1");
        read("environ").split('\0').any(|one| one == mark) && read("status").lines().any(first)
    };
    let processes = fs::read_dir("/proc").unwrap();
    let processes = processes.filter_map(|entry| Some(entry.ok()?.path()));
    processes.filter(is_init).collect()
}

/// Two Sparks, one of them in the conditions that `container` of a profile describes.
pub fn containers_with(node: &str, container: &str) -> LabLease {
    let text = shipped("two-sparks").unwrap();
    let entry = format!("name = \"{node}\"\n");
    let changed = text.replace(&entry, &format!("{entry}container = {{ {container} }}\n"));
    assert_ne!(changed, text, "{node}");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("two-sparks.toml");
    fs::write(&file, changed).unwrap();
    bare_containers(file.to_str().unwrap())
}

fn leased(lease: Result<LabLease, crosstie_lab::LabError>) -> LabLease {
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
    sh_within(lab, node, script, COMMAND_TIMEOUT)
}

pub fn sh_within(lab: &Lab, node: &str, script: &str, deadline: Duration) -> String {
    let done = lab
        .exec_as_root(node, &["sh", "-c", script], deadline)
        .unwrap_or_else(|error| panic!("{error}; {}", lab.hang_diagnosis(node)));
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
