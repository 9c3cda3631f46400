//! `crosstie prove` on a lab.

use std::{
    env, fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    thread,
};

use crosstie_lab::{Lab, hub::CableFault};
use serde_json::Value;

use super::{
    sshd::crosstie,
    ups::{Proven, proven_two_sparks},
};

/// Of every cable, in each direction: far below what emulated nodes manage, so that it is the cable that limits them.
pub(crate) const RATE_MEGABITS: u64 = 40;

/// Two Sparks whose cable has a rate that the cluster file declares: whatever is slower than that is a finding.
pub(crate) fn limited_two_sparks() -> Proven {
    let proven = proven_two_sparks();
    let cluster = declared(&proven.lab, &proven.cluster);
    Proven { cluster, ..proven }
}

/// Gives every cable of the lab its rate, and the cluster file beside it.
pub(crate) fn declared(lab: &Lab, cluster: &Path) -> PathBuf {
    for node in &lab.profile().nodes {
        limit(lab, &node.name, RATE_MEGABITS);
    }
    let text = fs::read_to_string(cluster).unwrap();
    #[allow(clippy::cast_precision_loss)] // a few megabits
    let gbps = RATE_MEGABITS as f64 / 1000.0;
    let line = format!("[fabric]\nrate_gbps = {gbps}\n");
    let changed = text.replacen("[fabric]\n", &line, 1);
    assert_ne!(changed, text, "the cluster file has no [fabric]");
    let path = cluster.with_file_name("limited.toml");
    fs::write(&path, changed).unwrap();
    path
}

pub(crate) fn limit(lab: &Lab, node: &str, megabits: u64) {
    lab.fault(node, CableFault::RateBits(megabits * 1_000_000))
        .unwrap();
}

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

/// Something happens when so many steps have begun.
pub(crate) fn prove_while(
    proven: &Proven,
    state: &Path,
    arguments: &[&str],
    after_steps: usize,
    happens: impl FnOnce(u32),
) -> Output {
    let mut command = command(proven, state, arguments);
    let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut said = Vec::new();
    let mut steps = 0;
    while steps < after_steps {
        let Some(Ok(line)) = lines.next() else {
            panic!("it ended before step {after_steps}: {said:#?}");
        };
        steps += usize::from(line.starts_with("measuring "));
        said.push(line);
    }
    let rest = thread::spawn(move || lines.map_while(Result::ok).collect::<Vec<String>>());
    happens(child.id());
    let mut output = child.wait_with_output().unwrap();
    said.extend(rest.join().unwrap());
    output.stderr = said.join("\n").into_bytes();
    output
}

/// The newest run of a state folder.
pub(crate) fn newest_run(state: &Path) -> PathBuf {
    let clusters = fs::read_dir(state.join("crosstie")).unwrap();
    let runs = clusters.flat_map(|cluster| fs::read_dir(cluster.unwrap().path().join("runs")));
    let files = runs.flatten().map(|file| file.unwrap().path());
    let runs = files.filter(|path| path.extension().is_some_and(|one| one == "jsonl"));
    runs.max().expect("no run was kept")
}

/// For whoever wants to look at it: `CROSSTIE_KEEP_RUNS` is a folder.
pub(crate) fn keep_run(state: &Path, name: &str) {
    if let Some(folder) = env::var_os("CROSSTIE_KEEP_RUNS") {
        let kept = PathBuf::from(folder).join(name).with_extension("jsonl");
        fs::copy(newest_run(state), kept).unwrap();
    }
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
