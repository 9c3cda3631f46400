//! A reader that has seen enough (`true`, of a list of labs) is no error of any command.

use std::{
    io,
    process::{Output, Stdio},
};

use crate::common::command::command;

/// With a standard output that nobody reads.
fn unread(arguments: &[&str]) -> Output {
    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    let state = tempfile::tempdir().unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(
        folder.path().join("cluster.toml"),
        "format = 1\nname = \"sparks\"\n",
    )
    .unwrap();
    command(folder.path(), arguments)
        .env("XDG_STATE_HOME", state.path())
        .stdin(Stdio::null())
        .stdout(writer)
        .output()
        .unwrap()
}

#[test]
fn every_command_ends_quietly_when_nobody_reads_what_it_prints() {
    let fixtures = crate::common::command::fixtures();
    let node = fixtures.join("nodes/spark-healthy");
    let node = node.to_str().unwrap();
    for arguments in [
        &["--help"][..],
        &["--version"],
        &["lab", "list"],
        &["lab", "list", "--json"],
        &["lab", "--help"],
        &["scan", "--from", node],
        &["scan", "--from", node, "--json"],
        &["doctor", "--from", node],
        &["doctor", "--from", node, "--json"],
        &["explain"],
        &["explain", "arp-flux"],
        &["schema", "scan"],
        &["completions", "bash"],
        &["man"],
    ] {
        let output = unread(arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!said.contains("roken pipe"), "{arguments:?}: {said}");
        assert!(!said.contains("panicked"), "{arguments:?}: {said}");
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {said}");
    }
}

/// What a command finds is told by its exit status whether it is read or not.
#[test]
fn a_closed_pipe_hides_no_fault() {
    let fixtures = crate::common::command::fixtures();
    let node = fixtures.join("nodes/spark-twins-same-subnet");
    let output = unread(&["doctor", "--from", node.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let missing = unread(&["scan", "--from", "no-such-capture", "--json"]);
    assert_eq!(missing.status.code(), Some(2), "{missing:?}");
}
