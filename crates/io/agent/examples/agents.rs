//! `agents PROGRAM COUNT`: so many agents of one controller at once, each asked for everything; what that takes, as JSON.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)] // a measurement that fails says why

use std::{
    fs,
    path::PathBuf,
    process::Command,
    sync::{Arc, Barrier},
    time::{Duration, Instant},
};

use crosstie_agent::NodeCalls;
use crosstie_reach::{
    ConnectOptions,
    binary::{AgentBinaries, build_of},
    connect::direct,
    fan_out_together,
};
use serde_json::json;

const CALL_TIMEOUT: Duration = Duration::from_secs(120);

fn main() {
    let mut arguments = std::env::args_os().skip(1);
    let program = PathBuf::from(arguments.next().unwrap());
    let count: usize = arguments.next().unwrap().to_str().unwrap().parse().unwrap();
    let build = build_of(&program).unwrap();
    let all_there = Arc::new(Barrier::new(count));
    let before = kibibytes("/proc/self/status", "VmHWM:");
    let started = Instant::now();
    let results = fan_out_together(vec![(); count], CALL_TIMEOUT, move |_, ()| {
        let mut command = Command::new(&program);
        command.arg("agent");
        let wanted = ConnectOptions {
            binaries: &AgentBinaries::default(),
            root: None,
            deadline: CALL_TIMEOUT,
            progress: &|_| (),
        };
        let agent = direct("local", command, build.clone(), &wanted).unwrap();
        let process = agent.hello(CALL_TIMEOUT).unwrap().process;
        let connected = started.elapsed().as_secs_f64();
        agent.collect(CALL_TIMEOUT, &|_| ()).unwrap();
        let collected = started.elapsed().as_secs_f64();
        all_there.wait();
        // Shared pages are counted once among those who share them.
        let memory = kibibytes(&format!("/proc/{process}/smaps_rollup"), "Pss:");
        all_there.wait();
        (connected, collected, memory)
    });
    let results: Vec<_> = results.into_iter().map(Result::unwrap).collect();
    let last = |pick: fn(&(f64, f64, u64)) -> f64| results.iter().map(pick).fold(0.0, f64::max);
    let memory: u64 = results.iter().map(|(_, _, memory)| memory).sum();
    let controller = kibibytes("/proc/self/status", "VmHWM:") - before;
    let figures = json!({
        "agents": count,
        "all_connected_s": last(|(connected, ..)| *connected),
        "all_collected_s": last(|(_, collected, _)| *collected),
        "all_ended_s": started.elapsed().as_secs_f64(),
        "agent_kib": memory / count as u64,
        "controller_kib": controller / count as u64,
    });
    println!("{figures}");
}

fn kibibytes(file: &str, key: &str) -> u64 {
    let text = fs::read_to_string(file).unwrap();
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(key))
        .unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}
