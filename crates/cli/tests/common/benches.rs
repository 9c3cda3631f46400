//! `crosstie bench` on a lab.

use std::{
    io::{BufRead, BufReader, Read},
    process::{Command, Output, Stdio},
    time::{Duration, Instant},
};

use crosstie_lab::Lab;
use serde_json::Value;

use super::{lab::sh, sshd::crosstie, ups::nodes};

pub(crate) fn command(lab: &Lab, arguments: &[&str]) -> Command {
    let mut command = Command::new(crosstie());
    // Tests of RDMA need not wait for TCP's.
    let transports = ["--rdma", "--tcp", "--both"];
    let names_transports = arguments.iter().any(|one| transports.contains(one));
    command
        .args(["bench", "--json", "--sudo"])
        .args(nodes(lab))
        .args((!names_transports).then_some("--rdma"))
        .args(arguments)
        .arg("--ssh-config")
        .arg(lab.ssh_config());
    command
}

pub(crate) fn bench(lab: &Lab, arguments: &[&str]) -> Output {
    command(lab, arguments).output().unwrap()
}

/// What it printed; it must be JSON.
pub(crate) fn told(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)))
}

pub(crate) fn no_worker_is_left(lab: &Lab, nodes: &[&str]) {
    for node in nodes {
        // One that was just told to end has a moment.
        let script = "for i in $(seq 20); do pgrep -af '[c]rosstie.* worker' || exit 0; sleep 1; done >&2; exit 1";
        sh(lab, node, script);
    }
}

/// Every cell of the document that is a figure or the reason for none: where it is, and what it says.
pub(crate) fn cells(document: &Value) -> Vec<(String, &Value)> {
    fn walk<'a>(place: &str, value: &'a Value, into: &mut Vec<(String, &'a Value)>) {
        match value {
            Value::Object(fields) => {
                for (key, value) in fields {
                    if key == "measured" || key == "not_measured" {
                        into.push((format!("{place}/{key}"), value));
                    } else {
                        walk(&format!("{place}/{key}"), value, into);
                    }
                }
            }
            Value::Array(entries) => {
                for (index, value) in entries.iter().enumerate() {
                    walk(&format!("{place}/{index}"), value, into);
                }
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    walk("", document, &mut found);
    found
}

/// A figure is more than nothing, and no byte is wrong.
pub(crate) fn figures_are_sound(document: &Value) {
    for (place, value) in cells(document) {
        let parts = value.as_array().cloned().unwrap_or(vec![value.clone()]);
        for part in parts {
            assert!(!place.ends_with("not_measured"), "{place}: {document:#}");
            let figure = ["gbps", "p50_ns", "messages"].map(|key| part[key].as_f64());
            let figure = figure.into_iter().flatten().next();
            assert!(figure.is_some_and(|figure| figure > 0.0), "{place}: {part}");
            if let Some(wrong) = part["wrong_bytes"].as_u64() {
                assert_eq!(wrong, 0, "{place}: {part}");
            }
        }
    }
}

/// Runs it, has `act` done when it measures for the first time, and returns what came of it; fails if it takes longer than
/// it said.
pub(crate) fn bench_while(lab: &Lab, arguments: &[&str], act: impl FnOnce()) -> Output {
    let mut command = command(lab, arguments);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let reader = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        stdout.read_to_end(&mut bytes).unwrap();
        bytes
    });
    let (mut act, mut said) = (Some(act), String::new());
    let (mut began, mut allowed) = (None, Duration::ZERO);
    for line in BufReader::new(child.stderr.take().unwrap()).lines() {
        let line = line.unwrap();
        if let Some((_, deadline)) = line.split_once("(deadline ") {
            let seconds = deadline.trim_end_matches(" s)").parse().unwrap();
            allowed += Duration::from_secs(seconds);
            let first = began.is_none();
            began.get_or_insert_with(Instant::now);
            if first {
                // Until queue pairs are there and messages go.
                std::thread::sleep(Duration::from_secs(8));
                if let Some(act) = act.take() {
                    act();
                }
            }
        }
        said.push_str(&line);
        said.push('\n');
    }
    let status = child.wait().unwrap();
    let took = began.expect("nothing was measured").elapsed();
    // What is printed is a promise; a busy machine gets some slack.
    assert!(
        took < allowed + Duration::from_secs(10),
        "{took:?} instead of {allowed:?}: {said}"
    );
    Output {
        status,
        stdout: reader.join().unwrap(),
        stderr: said.into_bytes(),
    }
}
