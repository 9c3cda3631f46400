//! Many agents at once.

use std::{fs, path::Path, process::Command, time::Duration};

use crosstie_agent::NodeCalls;
use crosstie_reach::{
    ConnectOptions, RemoteSession, binary::AgentBinaries, binary::build_of, connect::direct,
    fan_out,
};

use crate::common::sshd::{crosstie, eventually};

const CALL_TIMEOUT: Duration = Duration::from_secs(120);

fn agent(build: &str, binaries: &AgentBinaries) -> RemoteSession {
    let mut command = Command::new(crosstie());
    command.arg("agent");
    let wanted = ConnectOptions {
        binaries,
        root: None,
        deadline: CALL_TIMEOUT,
        progress: &|_| (),
    };
    direct("local", command, build.to_owned(), &wanted).unwrap()
}

fn count(folder: &str) -> usize {
    fs::read_dir(folder).unwrap().count()
}

/// Set for the process that has this test to itself.
const ALONE: &str = "CROSSTIE_TEST_ALONE";

/// In a process of its own: what is counted is the process's.
#[test]
fn ns_many_agents_and_no_leak() {
    if std::env::var_os(ALONE).is_some() {
        many_agents_and_no_leak();
        return;
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "agents::ns_many_agents_and_no_leak"])
        .env(ALONE, "1")
        .output()
        .unwrap();
    let said = [&output.stdout[..], &output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("1 passed"), "{said}");
}

fn many_agents_and_no_leak() {
    let build = build_of(crosstie()).unwrap();
    let shared = build.clone();
    let answers = fan_out((0..200).collect(), 200, CALL_TIMEOUT, move |_, _: &u32| {
        let agent = agent(&shared, &AgentBinaries::default());
        let hello = agent.hello(CALL_TIMEOUT).unwrap();
        (hello.process, hello.user)
    });
    let mut processes: Vec<u32> = answers
        .into_iter()
        .map(|answer| answer.unwrap().0)
        .collect();
    processes.sort_unstable();
    processes.dedup();
    assert_eq!(processes.len(), 200);
    let ended = |pid: &u32| !Path::new(&format!("/proc/{pid}")).exists();
    eventually("the end of all agents", || processes.iter().all(ended));

    let threads = || count("/proc/self/task");
    let descriptors = || count("/proc/self/fd");
    let children = || fs::read_to_string("/proc/thread-self/children").unwrap_or_default();
    eventually("the end of the threads", || threads() <= 4);
    let before = (descriptors(), threads());
    for _ in 0..50 {
        agent(&build, &AgentBinaries::default())
            .hello(CALL_TIMEOUT)
            .unwrap();
    }
    eventually("as many threads as before", || threads() <= before.1);
    assert_eq!(descriptors(), before.0);
    assert_eq!(children(), "");
}
