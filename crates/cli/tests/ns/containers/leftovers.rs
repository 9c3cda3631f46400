//! `crosstie lab up --containers` killed at any moment: `lab down --all` leaves no process, mount, namespace or control group.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
    thread,
    time::Duration,
};

use crate::common::sshd::crosstie;

fn lab(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(crosstie());
    command.arg("lab").args(arguments);
    command.arg("--dir").arg(directory);
    command
}

fn run(directory: &Path, arguments: &[&str]) {
    let Output { status, stderr, .. } = lab(directory, arguments).output().unwrap();
    let said = String::from_utf8_lossy(&stderr);
    assert!(status.success(), "{arguments:?}: {said}");
}

/// Where every process has a file that names the directory, which stands for its namespaces too: one without a process or a
/// mount is gone.
fn traces(directory: &Path) -> Vec<String> {
    let wanted = directory.to_str().unwrap();
    let own = std::process::id().to_string();
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let name = entry.file_name().into_string().unwrap();
        if name == own || !name.bytes().all(|byte| byte.is_ascii_digit()) {
            continue;
        }
        for file in ["environ", "cmdline", "mountinfo"] {
            let text = fs::read(entry.path().join(file)).unwrap_or_default();
            if String::from_utf8_lossy(&text).contains(wanted) {
                found.push(format!("{name} {file}"));
            }
        }
    }
    let groups = crosstie_lab::control_groups(&directory.join("two-sparks")).unwrap();
    if groups.exists() {
        found.push(groups.display().to_string());
    }
    let files = fs::read_dir(directory).unwrap().flatten();
    found.extend(files.map(|file| file.path().display().to_string()));
    found
}

#[test]
fn containers_killed_at_any_time_leave_nothing_after_down() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    run(path, &["up", "--containers"]);
    assert!(traces(path).len() > 10, "{:?}", traces(path));
    run(path, &["down", "--all"]);
    assert_eq!(traces(path), [""; 0]);
    for delay in [30, 120, 400, 900, 1700] {
        let mut up = lab(path, &["up", "--containers"]).spawn().unwrap();
        thread::sleep(Duration::from_millis(delay));
        up.kill().unwrap();
        up.wait().unwrap();
        run(path, &["down", "--all"]);
        assert_eq!(traces(path), [""; 0], "killed after {delay} ms");
    }
}
