//! `crosstie lab` as a person meets it: mistakes are named, and nothing is ever left behind.

use std::fmt::Write;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

const CROSSTIE: &str = env!("CARGO_BIN_EXE_crosstie");

fn lab(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(CROSSTIE);
    command
        .arg("lab")
        .args(arguments)
        .arg("--dir")
        .arg(directory);
    command
}

/// Fails, says all of `words`, and leaves nothing.
fn refused(directory: &Path, command: &mut Command, words: &[&str]) {
    let Output { status, stderr, .. } = command.output().unwrap();
    let said = String::from_utf8_lossy(&stderr);
    assert!(!status.success(), "{said}");
    for word in words {
        assert!(said.contains(word), "{said}\nlacks: {word}");
    }
    assert_nothing_left(directory);
}

fn assert_nothing_left(directory: &Path) {
    let files: Vec<_> = std::fs::read_dir(directory)
        .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
        .unwrap_or_default();
    assert!(files.is_empty(), "left behind: {files:?}");
    let processes = processes_of(directory);
    assert!(processes.is_empty(), "still running: {processes:?}");
}

/// Every process that has the directory in its environment or arguments.
fn processes_of(directory: &Path) -> Vec<String> {
    let wanted = directory.to_str().unwrap();
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    entries
        .filter(|entry| {
            entry
                .file_name()
                .to_str()
                .unwrap()
                .parse::<u32>()
                .is_ok_and(|pid| pid != std::process::id())
        })
        .filter(|entry| {
            ["environ", "cmdline"].iter().any(|file| {
                std::fs::read(entry.path().join(file))
                    .is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains(wanted))
            })
        })
        .map(|entry| {
            let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).replace('\0', " ")
        })
        .collect()
}

#[test]
fn lab_refuses_a_wrong_profile() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    refused(
        path,
        &mut lab(path, &["up", "--profile", "two-spark"]),
        &["no profile named", "two-sparks"],
    );
    let files = tempfile::tempdir().unwrap();
    let file = files.path().join("mine.toml");
    std::fs::write(&file, "description = \"mine\"\nnodes = 3\n").unwrap();
    refused(
        path,
        &mut lab(path, &["up", "--profile", file.to_str().unwrap()]),
        &["\"mine\" is not valid", "unknown field `nodes`"],
    );
}

#[test]
fn lab_names_the_package_of_a_missing_qemu() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let tools = tempfile::tempdir().unwrap();
    let mut command = lab(path, &["up"]);
    command.env("PATH", tools.path());
    refused(
        path,
        &mut command,
        &["qemu-system-x86_64", "apt-get install qemu-system-x86"],
    );
}

#[test]
fn lab_refuses_an_occupied_port() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    refused(
        path,
        &mut lab(path, &["up", "--ssh-port", &port]),
        &[&port, "is taken", "--ssh-port"],
    );
}

#[test]
fn lab_refuses_a_full_disk_and_a_small_machine() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let script = "mount -t tmpfs -o size=64m none \"$2\" && { \"$1\" lab up --dir \"$2\"; status=$?; ls -A \"$2\" >&2; exit $status; }";
    let mut command = Command::new("unshare");
    command.args([
        "--user",
        "--map-root-user",
        "--mount",
        "sh",
        "-c",
        script,
        "sh",
        CROSSTIE,
    ]);
    command.arg(path);
    let said = String::from_utf8(command.output().unwrap().stderr).unwrap();
    assert!(said.contains("MiB free, the lab wants 1200 MiB"), "{said}");
    assert_eq!(said.lines().count(), 1, "left behind: {said}");

    let files = tempfile::tempdir().unwrap();
    let file = files.path().join("huge.toml");
    let mut text = String::from(
        "description = \"huge\"\n[kind.big]\nmemory_mib = 65536\nvcpus = 1\nnetwork = \"networkd\"\nsudo = \"free\"\nmanagement = \"eno1\"\n",
    );
    for number in 0..16 {
        let _ = write!(text, "[[node]]\nname = \"n{number}\"\nkind = \"big\"\n");
    }
    std::fs::write(&file, text).unwrap();
    refused(
        path,
        &mut lab(path, &["up", "--profile", file.to_str().unwrap()]),
        &["wants 1051456 MiB of memory", "available"],
    );
}

#[test]
fn lab_says_so_when_there_is_none() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    refused(
        path,
        &mut lab(path, &["exec", "spark-a", "--name", "x", "--", "true"]),
        &["there is no lab \"x\""],
    );
    let list = lab(path, &["list", "--json"]).output().unwrap();
    assert_eq!(String::from_utf8(list.stdout).unwrap().trim(), "[]");
    assert!(lab(path, &["down"]).status().unwrap().success());
}

/// The controlling process killed at moments from the first to the last of `up`, twice in a row each.
#[test]
fn lab_killed_twice_at_any_time_leaves_nothing_after_down() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    // First a whole one, so that the later ones are not all spent in the image.
    assert!(lab(path, &["up"]).status().unwrap().success());
    assert!(lab(path, &["down"]).status().unwrap().success());
    assert_nothing_left(path);
    for (first, second) in [(20, 70), (150, 300), (600, 1200), (2500, 4000)] {
        for delay in [first, second] {
            let mut up = lab(path, &["up"]).spawn().unwrap();
            std::thread::sleep(Duration::from_millis(delay));
            up.kill().unwrap();
            up.wait().unwrap();
        }
        let down = lab(path, &["down", "two-sparks"]).output().unwrap();
        assert!(
            down.status.success(),
            "{}",
            String::from_utf8_lossy(&down.stderr)
        );
        assert_nothing_left(path);
    }
}
