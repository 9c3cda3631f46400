//! Sessions with the real agent: kept alive while nothing is asked, and calls that are given up.

use std::{
    fs::{self, File},
    io::{Read, Seek, SeekFrom},
    path::Path,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use crosstie_agent::{CallError, NodeCalls};
use crosstie_reach::{
    ConnectOptions, RemoteSession, SessionError,
    binary::{AgentBinaries, build_of},
    connect::direct,
};
use rustix::process::{Pid, Signal, kill_process};

use crate::common::sshd::{NodeSetup, SshNodes, crosstie, eventually, prepared, processes};

const CALL_TIMEOUT: Duration = Duration::from_secs(60);

/// An agent by this command.
fn agent(command: Command) -> RemoteSession {
    let wanted = ConnectOptions {
        binaries: &AgentBinaries::default(),
        root: None,
        deadline: CALL_TIMEOUT,
        progress: &|_| (),
    };
    direct("local", command, build_of(crosstie()).unwrap(), &wanted).unwrap()
}

/// It leaves after this much silence.
fn impatient(silence: &str) -> RemoteSession {
    let mut command = Command::new(crosstie());
    command.args(["agent", "--silence", silence]);
    agent(command)
}

#[test]
fn ns_a_session_that_is_asked_nothing_stays() {
    let mut kept = impatient("1500");
    kept.keep_alive_every(Duration::from_millis(50));
    let mut left = impatient("1500");
    left.keep_alive_every(CALL_TIMEOUT);
    let first = kept.hello(CALL_TIMEOUT).unwrap();
    let gone = left.hello(CALL_TIMEOUT).unwrap().process;
    eventually("the end of the one that hears nothing", || ended(gone));
    assert!(matches!(
        left.hello(CALL_TIMEOUT),
        Err(CallError::Session(SessionError::Ended { .. }))
    ));
    assert!(matches!(
        left.hello(CALL_TIMEOUT),
        Err(CallError::Session(SessionError::Broken))
    ));
    // Calls and pings take turns, whoever is first.
    for _ in 0..200 {
        assert_eq!(kept.hello(CALL_TIMEOUT).unwrap(), first);
        thread::sleep(Duration::from_millis(10));
    }
    kept.collect(CALL_TIMEOUT, &|_| ()).unwrap();
    drop(kept);
    eventually("the end of the session", || ended(first.process));
}

/// Whether it runs no more; that it is still to be waited for does not matter.
fn ended(process: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat"));
    stat.is_ok_and(|stat| stat.contains(") Z ")) || !Path::new(&format!("/proc/{process}")).exists()
}

/// What a program that collection waits for does instead.
fn slow(folder: &Path) -> String {
    let script = folder.join("slow");
    let here = folder.display();
    let text = format!("#!/bin/sh\n: {here}\nsleep 31 & echo $$ >{here}/started; sleep 31\n");
    fs::write(&script, text).unwrap();
    format!(
        "mount -t tmpfs tmpfs /run; mkdir -p /run/systemd/system; cp {here}/slow /run/slow; chmod 755 /run/slow\n\
         mount --bind /run/slow /usr/bin/timedatectl\n"
    )
}

#[test]
fn ns_a_slow_program_ends_with_its_call_and_the_session_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let script = format!("{}exec {} agent", slow(folder.path()), crosstie().display());
    let mut command = Command::new("unshare");
    command.args([
        "--mount",
        "--propagation",
        "private",
        "/bin/sh",
        "-euc",
        &script,
    ]);
    let agent = agent(command);
    let process = agent.hello(CALL_TIMEOUT).unwrap().process;
    let words = "sleep 31";
    // Such a program is given up within the call's time, or with the call; left alone it would have six seconds, so a slow
    // round proves nothing.
    let proven = (0..8).any(|_| {
        let called = Instant::now();
        let late = agent.collect(Duration::from_millis(700), &|_| ());
        assert!(
            matches!(
                late,
                Ok(_) | Err(CallError::Session(SessionError::Deadline { .. }))
            ),
            "{:?}",
            late.err()
        );
        let ran = fs::remove_file(folder.path().join("started")).is_ok();
        eventually("the end of its children", || {
            of_agent(words, process).is_empty()
        });
        let quick = called.elapsed() < Duration::from_millis(1900);
        assert_eq!(agent.hello(CALL_TIMEOUT).unwrap().process, process);
        ran && quick
    });
    assert!(proven, "children of a call outlive it");
    // One that has the time is answered.
    agent.collect(CALL_TIMEOUT, &|_| ()).unwrap();
}

/// Processes in groups that the agent's children lead.
fn of_agent(words: &str, agent: u32) -> Vec<i32> {
    let session = |process: i32| {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        let fields: Vec<String> = stat
            .rsplit_once(')')?
            .1
            .split_whitespace()
            .map(Into::into)
            .collect();
        Some((fields[0].clone(), fields[3].clone()))
    };
    let own = session(agent.cast_signed()).map(|(_, session)| session);
    let mut found = processes(words);
    found.retain(|process| {
        session(*process).is_some_and(|(state, session)| state != "Z" && Some(session) == own)
    });
    found
}

/// The end of a file that starts with a whole agent.
fn last_words(path: &Path) -> String {
    let mut words = Vec::new();
    if let Ok(mut file) = File::open(path)
        && file.seek(SeekFrom::End(-300)).is_ok()
    {
        file.read_to_end(&mut words).unwrap();
    }
    String::from_utf8_lossy(&words).into_owned()
}

#[test]
fn ns_an_interrupted_call_is_cancelled() {
    let mut place = SshNodes::new();
    let furnish = NodeSetup {
        mounts: "mkdir -p /run/systemd/system; printf '#!/bin/sh\\nsleep 32' >/run/slow; chmod 755 /run/slow; \
                 mount --bind /run/slow /usr/bin/timedatectl",
        // Keeps what the controller says.
        forced: Some("tee -a $HOME/said | /bin/sh\n".to_owned()),
        ..NodeSetup::default()
    };
    let home = place.node("node", &furnish).home.clone();
    let mut scan = place.scan(&["node"]);
    let mut scan = scan
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let said = || last_words(&home.join("said"));
    prepared("the call", || said().contains(r#"{"call":{"id":1,"#));
    kill_process(Pid::from_child(&scan), Signal::INT).unwrap();
    let status = scan.wait().unwrap();
    let signal = std::os::unix::process::ExitStatusExt::signal(&status);
    assert_eq!(signal, Some(2));
    eventually("the last word", || {
        said().contains(r#"{"cancel":{"id":1}}"#)
    });
}
