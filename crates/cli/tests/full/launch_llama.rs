//! A model answers over the fabric: llama.cpp itself, on machines with Soft-RoCE.

#![allow(clippy::print_stdout)] // what a person wants to see of it

use std::{
    path::Path,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use crosstie_lab::hub::CableFault;
use serde_json::Value;

use crate::common::jobs::{JobLab, NODES, PROGRAMS};

const MODEL: &str = "/opt/engine/model.gguf";
const PROMPT: &str = "Once upon a time";
/// A cut cable is named within this, where the engine alone waits for ever.
const NAMED_TIMEOUT: Duration = Duration::from_secs(30);

fn run(program: &Path, arguments: &[&str]) -> String {
    let output = Command::new(program)
        .args(arguments)
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}: {output:?}", program.display());
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// The engine on both nodes, the model on the head.
fn prepared() -> JobLab {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/llama");
    let built = run(&script, &[]);
    let jobs = JobLab::machines();
    let config = jobs.lab.ssh_config();
    for node in NODES {
        jobs.sh(
            node,
            &format!("mkdir -p {PROGRAMS} && chmod 777 {PROGRAMS}"),
        );
        let mut files = vec!["ggml-rpc-server"];
        if node == NODES[0] {
            files.extend(["llama-completion", "llama-server", "model.gguf"]);
        }
        let files = files.iter().map(|name| format!("{built}/{name}"));
        let files: Vec<String> = files.collect();
        let target = format!("{node}:{PROGRAMS}/");
        let mut arguments = vec!["-q", "-F", config.to_str().unwrap()];
        arguments.extend(files.iter().map(String::as_str));
        arguments.push(&target);
        run(Path::new("scp"), &arguments);
    }
    jobs
}

fn start<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let start = [
        "llama",
        MODEL,
        "--programs",
        PROGRAMS,
        "--context",
        "256",
        "--start-timeout",
        "300",
    ];
    [&start[..], more].concat()
}

fn packets(launched: &Value) -> Vec<u64> {
    let ranks = launched["ranks"].as_array().unwrap().iter();
    ranks
        .map(|rank| rank["rdma_packets"].as_u64().unwrap())
        .collect()
}

#[test]
fn full_a_model_answers_over_rdma_or_is_stopped_with_the_reason() {
    let jobs = prepared();
    the_same_words_as_one_node_and_rdma_packets_on_both(&jobs);
    what_falls_back_to_tcp_is_stopped(&jobs);
    a_cut_cable_is_named(&jobs);
}

fn the_same_words_as_one_node_and_rdma_packets_on_both(jobs: &JobLab) {
    let alone = jobs.sh(
        "spark-a",
        &format!(
            "{PROGRAMS}/llama-completion -m {MODEL} -p '{PROMPT}' -n 24 --temp 0 --top-k 1 --seed 1 -no-cnv -c 256 \
             --no-warmup --no-display-prompt 2>/dev/null"
        ),
    );
    let prompt = ["--prompt", PROMPT, "--tokens", "24"];
    let launched = jobs.json(true, 0, &start(&prompt));
    println!("alone: {alone}\nover RDMA: {launched:#}");
    assert_eq!(launched["outcome"], "ended", "{launched:#}");
    assert!(alone.trim().split(' ').count() > 8, "{alone}");
    assert_eq!(launched["generated"], alone.trim(), "{launched:#}");
    let counted = packets(&launched);
    assert!(counted.iter().all(|count| *count > 100), "{launched:#}");
    jobs.has_nothing_left();
}

/// llama.cpp itself exits with 0 in each of these.
fn what_falls_back_to_tcp_is_stopped(jobs: &JobLab) {
    let prompt = ["--prompt", PROMPT, "--tokens", "8"];
    jobs.sh(
        "spark-b",
        &format!(
            "cd {PROGRAMS} && mv ggml-rpc-server real-server && printf '#!/bin/bash\\nulimit -l 64\\nexec {PROGRAMS}/real-server \"$@\"\\n' \
             > ggml-rpc-server && chmod 755 ggml-rpc-server"
        ),
    );
    let (code, said) = jobs.run(true, &start(&prompt));
    jobs.sh(
        "spark-b",
        &format!("cd {PROGRAMS} && mv real-server ggml-rpc-server"),
    );
    println!("little memory to lock: {said}");
    assert_stopped(code, &said);
    jobs.has_nothing_left();
    let wrong = [&prompt[..], &["--set", "GGML_RDMA_DEV=none"]].concat();
    let (code, said) = jobs.run(true, &start(&wrong));
    println!("a device that is not there: {said}");
    assert_stopped(code, &said);
    jobs.has_nothing_left();
}

fn assert_stopped(code: i32, said: &str) {
    assert_eq!(code, 2, "{said}");
    for wanted in [
        "it generated, but not over RDMA",
        "no packet on the RDMA counters of ",
        "--allow-tcp",
    ] {
        assert!(said.contains(wanted), "'{wanted}' not in {said}");
    }
}

fn a_cut_cable_is_named(jobs: &JobLab) {
    let launched = jobs.json(true, 0, &start(&[]));
    println!("served: {launched:#}");
    assert_eq!(launched["outcome"], "running", "{launched:#}");
    assert!(
        packets(&launched).iter().all(|count| *count > 100),
        "{launched:#}"
    );
    // It answers for as long as it is left alone.
    jobs.sh(
        "spark-a",
        "cat > /tmp/ask.py <<'END'
import urllib.request
body = b'{\"prompt\": \"a\", \"n_predict\": 200, \"ignore_eos\": true}'
print(urllib.request.urlopen('http://127.0.0.1:8080/completion', body).read())
END
setsid python3 /tmp/ask.py > /tmp/answer 2>&1 < /dev/null &
sleep 2",
    );
    jobs.lab.fault("spark-a:p0", CableFault::Cut).unwrap();
    let began = Instant::now();
    let named = loop {
        let (_, said) = jobs.run(true, &["status"]);
        if said.contains("has been dark for") {
            break said;
        }
        assert!(began.elapsed() < NAMED_TIMEOUT, "{said}");
        thread::sleep(Duration::from_millis(500));
    };
    println!(
        "named after {:.1} s: {named}",
        began.elapsed().as_secs_f64()
    );
    assert!(named.contains("spark-a"), "{named}");
    jobs.lab.restore("spark-a:p0").unwrap();
    jobs.json(true, 0, &["stop"]);
    jobs.has_nothing_left();
}
