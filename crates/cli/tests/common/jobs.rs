//! `crosstie launch` on the nodes of a lab.

use std::{
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
};

use crosstie_lab::Lab;
use serde_json::Value;

use super::{
    changes::json,
    command::Schema,
    inits,
    lab::{containers, sh},
    sshd::{crosstie, typed},
    ups::{Proven, proven_two_sparks},
};

pub const NODES: [&str; 2] = ["spark-a", "spark-b"];
/// Where the engines of these tests are, on every node.
pub const PROGRAMS: &str = "/opt/engine";

/// Two configured nodes, and engines that are scripts.
pub struct JobLab {
    pub lab: crosstie_lab::LabLease,
    pub cluster: PathBuf,
    /// Where the cluster file is, unless it is the lab's.
    _folder: Option<tempfile::TempDir>,
}

impl JobLab {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let lab = containers("two-sparks");
        let cluster = folder.path().join("cluster.toml");
        inits::json(&lab, &NODES, &cluster);
        json(&lab, &cluster, 0, &["apply", "--yes"]);
        Self {
            lab,
            cluster,
            _folder: Some(folder),
        }
    }

    /// Machines with Soft-RoCE, as `up` left them.
    pub fn machines() -> Self {
        let Proven { lab, cluster, .. } = proven_two_sparks();
        Self {
            lab,
            cluster,
            _folder: None,
        }
    }

    /// A program of an engine, on both nodes.
    pub fn program(&self, name: &str, script: &str) {
        for node in NODES {
            let path = format!("{PROGRAMS}/{name}");
            let script = script.replace('\'', r"'\''");
            sh(
                &self.lab,
                node,
                &format!(
                    "mkdir -p {PROGRAMS} && printf '%s\\n' '{script}' > {path} && chmod 755 {path}"
                ),
            );
        }
    }

    pub fn command(&self, root: bool, arguments: &[&str]) -> Command {
        command(&self.lab, &self.cluster, root, arguments)
    }

    pub fn run(&self, root: bool, arguments: &[&str]) -> (i32, String) {
        let output = self.command(root, arguments).output().unwrap();
        said(&output)
    }

    pub fn start(&self, root: bool, arguments: &[&str]) -> Child {
        self.command(root, arguments).spawn().unwrap()
    }

    /// What it printed, if it ended with `code`.
    pub fn json(&self, root: bool, code: i32, arguments: &[&str]) -> Value {
        let output = self.command(root, &[arguments, &["--json"]].concat());
        let output = { output }.output().unwrap();
        let (found, text) = said(&output);
        assert_eq!(found, code, "{arguments:?}: {text}");
        let value: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{arguments:?}: {error}: {text}"));
        let schema = match arguments[0] {
            _ if value.get("error").is_some() => "error",
            "status" => "launch-status",
            "stop" => "launch-stop",
            _ if arguments.contains(&"--dry-run") => "launch-plan",
            _ => "launch",
        };
        let valid = Schema::published(schema).allows(&value);
        valid.unwrap_or_else(|error| panic!("{schema}: {error}: {value:#}"));
        value
    }

    pub fn sh(&self, node: &str, script: &str) -> String {
        sh(&self.lab, node, script)
    }

    /// No process, unit, folder or lingering user of any job.
    pub fn has_nothing_left(&self) {
        for node in NODES {
            let left = self.sh(
                node,
                "systemctl list-units --all --no-legend --plain 'crosstie-job-*'; \
                 ls -A /var/lib/crosstie/jobs /home/*/.local/state/crosstie/jobs 2>/dev/null | grep -v : ; \
                 ls /var/lib/systemd/linger 2>/dev/null; pgrep -fa 'sleep 7777|crosstie/jobs' | grep -v pgrep; true",
            );
            assert_eq!(left.trim(), "", "{node}");
        }
    }
}

/// The options of `launch` go behind its own subcommand.
pub fn command(lab: &Lab, cluster: &Path, root: bool, arguments: &[&str]) -> Command {
    let behind = arguments.iter().position(|word| *word == "--");
    let (arguments, behind) = arguments.split_at(behind.unwrap_or(arguments.len()));
    let mut command = Command::new(crosstie());
    command.arg("launch").args(arguments);
    command.arg("--cluster").arg(cluster);
    command.arg("--ssh-config").arg(lab.ssh_config());
    if root {
        command.args(["--sudo", "--become-password-fd", "0"]);
    }
    command
        .args(behind)
        .stdin(typed(lab.password()))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

pub fn said(output: &Output) -> (i32, String) {
    let text = [&output.stdout[..], &output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    (output.status.code().unwrap_or(-1), text)
}
