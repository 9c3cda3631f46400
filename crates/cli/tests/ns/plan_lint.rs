//! Rendered files, judged by the programs that read them: netplan, systemd, sysctl.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use crosstie_facts::facts;
use crosstie_model::{
    ClusterSpec, Facts, Reading,
    facts::{net::Manager, persistence::PersistentNetworkConfig},
};
use crosstie_node::capture;
use crosstie_plan::plan;
use crosstie_report::plan::files;

use crate::common::lint;

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

fn cluster(name: &str) -> ClusterSpec {
    let path = fixtures().join(format!("clusters/{name}.toml"));
    ClusterSpec::from_toml(&fs::read_to_string(path).unwrap()).unwrap()
}

const CLUSTERS: [&str; 4] = ["pair", "ring", "switch", "mixed-pair"];

/// The nodes of a cluster, run by one manager, with everything that quality of service can be set on.
fn bent(spec: &ClusterSpec, manager: &Manager, netplan: bool) -> Vec<Facts> {
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
            facts.persistence = PersistentNetworkConfig::default();
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

#[test]
fn netplan_takes_our_file_for_either_renderer() {
    for (manager, made, beginning) in [
        (Manager::Networkd, lint::NETWORKD_UNITS, "10-netplan-"),
        (Manager::NetworkManager, lint::CONNECTIONS, "netplan-"),
    ] {
        let mut count = 0;
        each_root(&manager, true, |root| {
            lint::netplan(root);
            let made = lint::names(&root.join(made));
            assert!(!made.is_empty() && made.iter().all(|name| name.starts_with(beginning)));
            let managed = root.join(lint::CONNECTIONS);
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
        for name in lint::names(&directory) {
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
        units += usize::from(lint::boot_unit(root));
        lint::memory_lock_defaults(root);
    });
    assert_eq!(units, 3);
}

#[test]
fn sysctl_takes_our_file() {
    let mut files = 0;
    each_root(&Manager::Networkd, true, |root| {
        files += usize::from(lint::sysctl(root));
    });
    assert_eq!(files, 10);
}

#[test]
fn nccl_takes_our_settings() {
    each_root(&Manager::Networkd, true, lint::nccl);
}
