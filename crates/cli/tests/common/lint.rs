//! Rendered files below a root, judged by the programs that read them: netplan, systemd, sysctl; and by NCCL's rules.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crosstie_model::distribution::DEBIAN;
use crosstie_plan::paths;

pub const NETWORKD_UNITS: &str = "run/systemd/network";
pub const CONNECTIONS: &str = "run/NetworkManager/system-connections";

fn run(package: &str, program: &str, arguments: &[&str]) -> (bool, String) {
    let output = Command::new(program)
        .args(arguments)
        .output()
        .unwrap_or_else(|error| panic!("{program}: {error}; apt-get install {package}"));
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    text += &String::from_utf8_lossy(&output.stderr);
    (output.status.success(), text)
}

fn below(root: &Path, path: &str) -> PathBuf {
    root.join(path.trim_start_matches('/'))
}

pub fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// What netplan makes of the files goes below `run`.
pub fn netplan(root: &Path) {
    let path = root.to_str().unwrap();
    let (done, text) = run("netplan.io", "netplan", &["generate", "--root-dir", path]);
    assert!(done && text.is_empty(), "{text}");
}

/// Whether there is one.
pub fn boot_unit(root: &Path) -> bool {
    let unit = below(root, paths::BOOT_UNIT);
    if !unit.exists() {
        return false;
    }
    // The unit names a program that only `crosstie apply` puts there: there is one, where nobody else sees it.
    let script = "mount -t tmpfs none /var/lib && mkdir -p \"${2%/*}\" && cp /bin/true \"$2\" && \
         exec systemd-analyze verify --man=no \"$1\"";
    let path = unit.to_str().unwrap();
    let arguments = ["--mount", "sh", "-c", script, "sh", path, paths::BINARY];
    let (done, text) = run("systemd", "unshare", &arguments);
    assert!(done && !text.contains("crosstie-fabric"), "{text}");
    true
}

pub fn memory_lock_defaults(root: &Path) {
    let root = format!("--root={}", root.to_str().unwrap());
    for file in ["systemd/system.conf", "systemd/user.conf"] {
        let (done, text) = run("systemd", "systemd-analyze", &["cat-config", &root, file]);
        assert!(
            done && text.contains("DefaultLimitMEMLOCK=infinity"),
            "{text}"
        );
    }
}

/// Whether there are settings.
pub fn sysctl(root: &Path) -> bool {
    let path = below(root, &paths::sysctl(&DEBIAN.folders));
    if !path.exists() {
        return false;
    }
    // This machine has no such interfaces; the loopback stands for them.
    let wanted = fs::read_to_string(&path).unwrap();
    let lines: Vec<String> = wanted
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| match line.split('/').nth(3) {
            Some(name) => line.replace(name, "lo"),
            None => line.to_owned(),
        })
        .collect();
    fs::write(&path, format!("# comment\n{}\n", lines.join("\n"))).unwrap();
    let path = path.to_str().unwrap();
    let (done, text) = run("procps", "sysctl", &["--dry-run", "-p", path]);
    assert!(done, "{text}");
    let expected: Vec<String> = lines.iter().map(|line| line.replace('/', ".")).collect();
    assert_eq!(text.lines().collect::<Vec<_>>(), expected);
    true
}

/// NCCL reads `NAME=value` up to the end of the line, and takes a blank before or behind for a part of it.
pub fn nccl(root: &Path) {
    let text = fs::read_to_string(below(root, paths::NCCL)).unwrap();
    let settings: Vec<(&str, &str)> = text
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .map(|line| line.split_once('=').unwrap_or_else(|| panic!("{line}")))
        .collect();
    for (name, value) in &settings {
        assert!(name.starts_with("NCCL_"), "{name}");
        assert!(
            !value.is_empty() && !value.contains(char::is_whitespace),
            "{name}={value}"
        );
    }
    let devices = settings.iter().find(|(name, _)| *name == "NCCL_IB_HCA");
    let (_, devices) = devices.unwrap_or_else(|| panic!("{text}"));
    assert!(devices.starts_with('='), "{devices}");
}
