//! Rendered files, judged by the programs that read them: netplan, systemd, sysctl.

#![allow(clippy::unwrap_used, clippy::panic)] // a test says what went wrong by panicking

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

use crosstie_facts::facts;
use crosstie_model::{
    Facts, Reading, Spec,
    facts::{net::Manager, persistence::Persistence},
};
use crosstie_node::capture;
use crosstie_plan::{paths, plan};
use crosstie_report::plan::files;

fn fixtures() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")
}

fn nodes() -> Vec<Facts> {
    let loaded = capture::load(&fixtures().join("nodes")).unwrap();
    loaded
        .into_iter()
        .map(|loaded| facts(&loaded.raw.unwrap()))
        .collect()
}

fn cluster(name: &str) -> Spec {
    let path = fixtures().join(format!("clusters/{name}.toml"));
    Spec::from_toml(&fs::read_to_string(path).unwrap()).unwrap()
}

const CLUSTERS: [&str; 4] = ["pair", "ring", "switch", "mixed-pair"];

/// The nodes of a cluster, run by one manager, with everything that quality of service can be set on.
fn bent(spec: &Spec, manager: &Manager, netplan: bool) -> Vec<Facts> {
    let mut nodes = nodes();
    nodes.retain(|facts| spec.node(&facts.host.name).is_some());
    for facts in &mut nodes {
        for interface in &mut facts.network.interfaces {
            interface.manager = manager.clone();
            interface.qos.pfc = Reading::Value(Vec::new());
            interface.qos.trust = Reading::Value("pcp".to_owned());
        }
        facts.persistence.profiles.clear();
        if !netplan {
            facts.persistence = Persistence::default();
            facts.software.packages = Reading::Absent;
        }
    }
    nodes
}

/// Writes each node's files under a root of its own.
fn each_root(manager: &Manager, netplan: bool, mut judge: impl FnMut(&Path)) {
    for name in CLUSTERS {
        let spec = cluster(name);
        let planned = plan(&spec, &bent(&spec, manager, netplan)).unwrap();
        for node in &planned.nodes {
            assert!(node.refusals.is_empty(), "{:?}", node.refusals);
            let root = tempfile::tempdir().unwrap();
            for file in files(node) {
                let path = root.path().join(file.path.trim_start_matches('/'));
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(&path, &file.text).unwrap();
                fs::set_permissions(&path, fs::Permissions::from_mode(file.mode)).unwrap();
            }
            judge(root.path());
        }
    }
}

fn run(package: &str, program: &str, arguments: &[&str]) -> (bool, String) {
    let output = Command::new(program)
        .args(arguments)
        .output()
        .unwrap_or_else(|error| panic!("{program}: {error}; apt-get install {package}"));
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    text += &String::from_utf8_lossy(&output.stderr);
    (output.status.success(), text)
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn netplan_takes_our_file_for_either_renderer() {
    for (manager, made, beginning) in [
        (Manager::Networkd, "run/systemd/network", "10-netplan-"),
        (
            Manager::NetworkManager,
            "run/NetworkManager/system-connections",
            "netplan-",
        ),
    ] {
        let mut count = 0;
        each_root(&manager, true, |root| {
            let path = root.to_str().unwrap();
            let (done, text) = run("netplan.io", "netplan", &["generate", "--root-dir", path]);
            assert!(done && text.is_empty(), "{text}");
            let made = names(&root.join(made));
            assert!(!made.is_empty() && made.iter().all(|name| name.starts_with(beginning)));
            let managed = root.join("run/NetworkManager/system-connections");
            assert_eq!(managed.exists(), manager == Manager::NetworkManager);
            count += 1;
        });
        assert_eq!(count, 10);
    }
}

#[test]
fn networkd_takes_our_files() {
    let mut count = 0;
    each_root(&Manager::Networkd, false, |root| {
        let directory = root.join("etc/systemd/network");
        for name in names(&directory) {
            let text = fs::read_to_string(directory.join(name)).unwrap();
            assert!(text.contains("[Match]") && text.contains("MTUBytes=9000"));
            count += 1;
        }
    });
    assert!(count > 10, "{count}");
}

#[test]
fn systemd_takes_our_unit_and_defaults() {
    let mut units = 0;
    each_root(&Manager::Networkd, true, |root| {
        let unit = root.join(paths::BOOT_UNIT.trim_start_matches('/'));
        if !unit.exists() {
            return;
        }
        // The unit names a program that only `crosstie apply` puts there.
        let text = fs::read_to_string(&unit).unwrap();
        assert!(text.contains(paths::BINARY));
        fs::write(&unit, text.replace(paths::BINARY, "/bin/true")).unwrap();
        let path = unit.to_str().unwrap();
        let (done, text) = run("systemd", "systemd-analyze", &["verify", "--man=no", path]);
        assert!(done && !text.contains("crosstie-fabric"), "{text}");
        units += 1;
    });
    assert_eq!(units, 3);
    each_root(&Manager::Networkd, true, |root| {
        let path = root.to_str().unwrap();
        for file in ["systemd/system.conf", "systemd/user.conf"] {
            let root = format!("--root={path}");
            let (done, text) = run("systemd", "systemd-analyze", &["cat-config", &root, file]);
            assert!(
                done && text.contains("DefaultLimitMEMLOCK=infinity"),
                "{text}"
            );
        }
    });
}

#[test]
fn sysctl_takes_our_file() {
    each_root(&Manager::Networkd, true, |root| {
        let path = root.join(paths::SYSCTL.trim_start_matches('/'));
        if !path.exists() {
            return;
        }
        // This machine has no such interfaces; the loopback stands for them.
        let wanted = fs::read_to_string(&path).unwrap();
        let lines: Vec<String> = wanted
            .lines()
            .filter(|line| !line.starts_with('#'))
            .map(|line| {
                let name = line.split('/').nth(3).unwrap();
                line.replace(name, "lo")
            })
            .collect();
        fs::write(&path, format!("# comment\n{}\n", lines.join("\n"))).unwrap();
        let path = path.to_str().unwrap();
        let (done, text) = run("procps", "sysctl", &["--dry-run", "-p", path]);
        assert!(done, "{text}");
        let expected: Vec<String> = lines.iter().map(|line| line.replace('/', ".")).collect();
        assert_eq!(text.lines().collect::<Vec<_>>(), expected);
    });
}
