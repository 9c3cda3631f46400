//! What `prove` ends with where there is nothing to measure, and what is posted of a run: nothing of how nodes were reached.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Output},
};

use crosstie_lab::Lab;

use crate::common::{
    changes::{self, json},
    inits,
    lab::{containers, sh},
    sshd::crosstie,
};

const NODES: [&str; 2] = ["spark-a", "spark-b"];
/// How they are reached: a user and a domain, and an alias.
const CALLED: [&str; 2] = ["lab@canary-a.canarydomain.example", "canary-jump"];
/// Of names, users and addresses of which a shared report has none.
const SECRETS: [&str; 7] = [
    "canary",
    "lab@",
    "spark-a",
    "spark-b",
    "sparky",
    "10.77.",
    "127.0.0.1",
];

/// Every node by another name than its own.
fn called_otherwise(lab: &Lab, cluster: &Path) -> (std::path::PathBuf, std::path::PathBuf) {
    let mut config = fs::read_to_string(lab.ssh_config()).unwrap();
    let mut text = fs::read_to_string(cluster).unwrap();
    text = text.replacen("name = \"cluster\"", "name = \"sparkys\"", 1);
    for (node, called) in NODES.iter().zip(CALLED) {
        let host = called.rsplit('@').next().unwrap();
        config = config.replace(&format!("Host {node}\n"), &format!("Host {node} {host}\n"));
        let name = format!("name = \"{node}\"\n");
        let reached = format!("{name}ssh = \"{called}\"\n");
        assert!(text.contains(&name), "{text}");
        text = text.replacen(&name, &reached, 1);
    }
    let names = format!("Host {}\n", NODES.join(" "));
    assert!(config.contains(&names), "{config}");
    let hosts = CALLED.map(|called| called.rsplit('@').next().unwrap());
    let all = format!("Host {} {}\n", NODES.join(" "), hosts.join(" "));
    config = config.replace(&names, &all);
    let (file, ssh_config) = (
        cluster.with_file_name("called.toml"),
        cluster.with_file_name("ssh_config"),
    );
    fs::write(&file, text).unwrap();
    fs::write(&ssh_config, config).unwrap();
    (file, ssh_config)
}

fn report(folder: &Path, run: &Path, arguments: &[&str]) -> Output {
    let output = Command::new(crosstie())
        .args(["report", "--share"])
        .arg(run)
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    output
}

#[test]
fn a_shared_report_of_a_run_tells_nothing_of_how_its_nodes_were_reached() {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path();
    let cluster = folder.join("cluster.toml");
    let lab = containers("two-sparks");
    inits::json(&lab, &NODES, &cluster);
    json(&lab, &cluster, 0, &["apply", "--yes"]);
    let (file, ssh_config) = called_otherwise(&lab, &cluster);
    let mut child = Command::new(crosstie())
        .args([
            "prove",
            "--quick",
            "--seconds",
            "0.3",
            "--json",
            "--cluster",
        ])
        .arg(&file)
        .arg("--ssh-config")
        .arg(&ssh_config)
        .env("XDG_STATE_HOME", folder.join("state"))
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = Vec::new();
    let mut is_cut = false;
    for line in BufReader::new(child.stderr.take().unwrap()).lines() {
        let line = line.unwrap();
        if line.contains("measuring") && !is_cut {
            is_cut = true;
            // Its session ends in the middle, and ssh has a word on it.
            sh(&lab, NODES[1], "pkill -KILL -f '[a]gent'; true");
        }
        said.push(line);
    }
    let output = child.wait_with_output().unwrap();
    assert_ne!(output.status.code(), Some(0), "{said:#?}");
    let runs = fs::read_dir(folder.join("state/crosstie/sparkys/runs"));
    let runs = runs.unwrap_or_else(|error| panic!("{error}: {said:#?}"));
    let mut runs = runs.flatten().map(|entry| entry.path());
    let run = runs
        .find(|path| path.extension().is_some_and(|ending| ending == "jsonl"))
        .unwrap();
    let stored = fs::read_to_string(&run).unwrap();
    assert!(stored.contains("\"lost\""), "{stored}");
    for reached in ["canary", "lab@"] {
        assert!(
            !stored.contains(reached),
            "{reached} is in the run itself: {stored}"
        );
    }
    let page = report(folder, &run, &["-o", "shared.html"]);
    let printed = report(folder, &run, &["--json"]);
    let page_text = fs::read_to_string(folder.join("shared.html")).unwrap();
    let made = [
        page_text.into_bytes(),
        page.stdout,
        page.stderr,
        printed.stdout,
        printed.stderr,
    ];
    for text in made.map(|bytes| String::from_utf8(bytes).unwrap()) {
        for secret in SECRETS {
            assert!(!text.contains(secret), "{secret} is in {text}");
        }
    }
}

/// Nodes in which nothing is wrong, and which have no RDMA.
#[test]
fn a_proof_without_any_figure_ends_with_2() {
    let directory = tempfile::tempdir().unwrap();
    let cluster = directory.path().join("cluster.toml");
    let nodes: String = NODES
        .map(|node| format!("[[node]]\nname = \"{node}\"\n"))
        .concat();
    fs::write(&cluster, format!("format = 1\nname = \"sparks\"\n{nodes}")).unwrap();
    let lab = containers("two-sparks");
    for node in NODES {
        let hidden = "for f in /sys/class/infiniband /sys/class/infiniband_verbs /dev/infiniband; do \
             [ ! -d $f ] || mount -t tmpfs none $f; done; printf '%s\\n' '* - memlock unlimited' 'root - memlock unlimited' > /etc/security/limits.d/50-test.conf";
        sh(&lab, node, hidden);
    }
    let mut command = changes::command(&lab, &cluster, &["prove", "--sudo", "--json"]);
    command.env("XDG_STATE_HOME", directory.path().join("state"));
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let found: serde_json::Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}"));
    assert_eq!(
        found["pairs"].as_array().map(Vec::len),
        Some(0),
        "{found:#}"
    );
    let findings = found["findings"].as_array().unwrap().iter();
    let faults: Vec<_> = findings.filter(|one| one["severity"] == "fault").collect();
    assert!(faults.is_empty(), "{faults:#?}");
    assert_eq!(output.status.code(), Some(2), "{found:#}");
}
