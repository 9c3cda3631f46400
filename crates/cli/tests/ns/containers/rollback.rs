//! A rollback ends, and restores what can be restored, on a node whose disk is full or whose interface is gone.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use crosstie_lab::{Lab, LabLease};
use serde_json::Value;
use tempfile::TempDir;

use crate::common::{
    changes::{json, once_settled, run, same, shape},
    inits,
    lab::{containers_with, sh},
    sshd::crosstie,
};

const NODE: &str = "spark-a";
const FILL: &str = "dd if=/dev/zero of=/var/tmp/filler bs=64k 2>/dev/null; \
     dd if=/dev/zero of=/var/tmp/filler-too bs=1k 2>/dev/null; [ $(stat -fc %f /) = 0 ]";

struct ChangedNode {
    lab: LabLease,
    directory: TempDir,
    before: String,
}

impl ChangedNode {
    fn new() -> Self {
        let lab = containers_with(NODE, "disk_mib = 400");
        let directory = tempfile::tempdir().unwrap();
        inits::json(
            &lab,
            &[NODE, "spark-b"],
            &directory.path().join("cluster.toml"),
        );
        let before = shape(&lab, NODE);
        Self {
            lab,
            directory,
            before,
        }
    }

    fn cluster(&self) -> PathBuf {
        self.directory.path().join("cluster.toml")
    }

    /// Nothing is open, and the next change is not held up.
    fn is_usable(&self) {
        let (lab, cluster) = (&self.lab, &self.cluster());
        assert_eq!(open_changes(lab, cluster, 0), [""; 0]);
        json(lab, cluster, 0, &["apply", NODE, "--yes"]);
        json(lab, cluster, 0, &["rollback", NODE, "--yes"]);
    }
}

fn open_changes(lab: &Lab, cluster: &Path, code: i32) -> Vec<String> {
    let told = json(lab, cluster, code, &["status", NODE]);
    let changes = told["nodes"][0]["transactions"].as_array().cloned();
    let state = |change: &Value| change["state"].as_str().unwrap_or_default().to_owned();
    let changes = changes.unwrap_or_default();
    let found = changes.iter().map(state);
    found.filter(|state| state != "rolled-back").collect()
}

#[test]
fn rollback_on_a_full_disk() {
    let place = ChangedNode::new();
    let (lab, cluster) = (&place.lab, &place.cluster());
    json(lab, cluster, 0, &["apply", NODE, "--yes"]);
    sh(lab, NODE, FILL);
    json(lab, cluster, 0, &["rollback", NODE, "--yes"]);
    same(NODE, &place.before, &shape(lab, NODE));
    sh(lab, NODE, "rm /var/tmp/filler*");
    place.is_usable();
}

/// The guard, too: what a command did before it filled the disk is rolled back.
#[test]
fn guard_on_a_full_disk_restores_the_default_route() {
    let place = ChangedNode::new();
    let (lab, cluster) = (&place.lab, &place.cluster());
    let route = sh(lab, NODE, "ip route show default");
    assert!(route.contains("default via"), "{route}");
    let script = format!("ip route delete default; {FILL}; exit 1");
    let arguments = [
        "try", NODE, "--for", "30s", "--yes", "--", "sh", "-c", &script,
    ];
    let output = run(lab, cluster, &arguments);
    assert_ne!(output.status.code(), Some(0), "{output:?}");
    let after = once_settled(lab, NODE, "ip route show default");
    assert_eq!(after, route);
    sh(lab, NODE, "rm /var/tmp/filler*");
    same(NODE, &place.before, &shape(lab, NODE));
    place.is_usable();
}

#[test]
fn rollback_without_the_interface() {
    let place = ChangedNode::new();
    let (lab, cluster) = (&place.lab, &place.cluster());
    json(lab, cluster, 0, &["apply", NODE, "--yes"]);
    sh(lab, NODE, "ip link delete enP2p1s0f0np0");
    let back = json(lab, cluster, 0, &["rollback", NODE, "--yes"]);
    assert!(back.to_string().contains("enP2p1s0f0np0"), "{back:#}");
    let files = sh(lab, NODE, "ls /etc/netplan/*crosstie* 2>&1 || true");
    assert!(files.contains("No such file"), "{files}");
    let other = sh(lab, NODE, "ip -o -4 addr show dev enp1s0f0np0 scope global");
    assert_eq!(other, "", "the other twin is as it was");
    // What could not be restored is shown until the next change.
    assert_eq!(open_changes(lab, cluster, 1), [""; 0]);
    let status = json(lab, cluster, 1, &["status", NODE]);
    let drift = status["nodes"][0]["drift"].to_string();
    assert!(drift.contains("enP2p1s0f0np0"), "{status:#}");
}

const OURS: &str = "/etc/netplan/90-crosstie.yaml";

/// The network is what it was, and the rest is told, and done once somebody has made room for it.
#[test]
fn rollback_on_a_disk_that_takes_nothing() {
    let place = ChangedNode::new();
    let (lab, cluster) = (&place.lab, &place.cluster());
    json(lab, cluster, 0, &["apply", NODE, "--yes"]);
    let read_only = "mount --bind /etc /etc && mount -o remount,ro,bind /etc";
    sh(lab, NODE, read_only);
    json(lab, cluster, 0, &["status", NODE]);
    let told = json(lab, cluster, 0, &["rollback", NODE, "--yes"]).to_string();
    assert!(
        told.contains(OURS) && told.contains("Read-only file system"),
        "{told}"
    );
    json(lab, cluster, 1, &["status", NODE]);
    sh(lab, NODE, "umount /etc");
    json(lab, cluster, 0, &["uninstall", NODE, "--yes"]);
    same(NODE, &place.before, &shape(lab, NODE));
}

/// What could not be restored, and what a person wrote, is in the journal alone: it stays until it is not needed.
#[test]
fn uninstall_keeps_the_only_copy_and_tries_again() {
    let place = ChangedNode::new();
    let (lab, cluster) = (&place.lab, &place.cluster());
    let uninstalled = || json(lab, cluster, 0, &["uninstall", NODE, "--yes"]).to_string();
    json(lab, cluster, 0, &["apply", NODE, "--yes"]);
    sh(lab, NODE, &format!("chattr +i {OURS}"));
    json(lab, cluster, 0, &["rollback", NODE, "--yes"]);
    let status = json(lab, cluster, 1, &["status", NODE]).to_string();
    assert!(status.contains(OURS), "{status}");
    let told = uninstalled();
    assert!(told.contains("has the only copy"), "{told}");
    sh(
        lab,
        NODE,
        &format!("test -d /var/lib/crosstie/changes; chattr -i {OURS}"),
    );
    // A look without root leaves an agent in the user's cache.
    let agents = "find /root /home -path '*/.cache/crosstie*'";
    let scan = Command::new(crosstie())
        .args(["scan", NODE, "--ssh-config"])
        .arg(lab.ssh_config())
        .output()
        .unwrap();
    assert!(scan.status.success(), "{scan:?}");
    assert_ne!(sh(lab, NODE, agents), "");
    uninstalled();
    sh(
        lab,
        NODE,
        &format!("! test -e {OURS} && ! test -e /var/lib/crosstie"),
    );
    assert_eq!(sh(lab, NODE, agents), "");
    same(NODE, &place.before, &shape(lab, NODE));

    // A file that a command has made, and nobody could remove.
    let made = "mkdir /etc/netplan/new; touch /etc/netplan/new/file; chattr +i /etc/netplan/new/file; exit 3";
    run(
        lab,
        cluster,
        &["try", "--yes", NODE, "--", "sh", "-c", made],
    );
    let mine = "chattr -i /etc/netplan/new/file; mkdir /etc/netplan/mine";
    sh(lab, NODE, mine);
    uninstalled();
    let gone = "! test -e /etc/netplan/new && rmdir /etc/netplan/mine && rm -r /var/lib/crosstie";
    sh(lab, NODE, gone);

    json(lab, cluster, 0, &["apply", NODE, "--yes"]);
    sh(
        lab,
        NODE,
        "echo '# precious' >> /etc/sysctl.d/90-crosstie.conf",
    );
    json(lab, cluster, 0, &["rollback", NODE, "--yes", "--force"]);
    for _ in 0..2 {
        let told = uninstalled();
        assert!(told.contains("has the only copy"), "{told}");
        sh(
            lab,
            NODE,
            "grep -q precious /var/lib/crosstie/changes/*/kept-*",
        );
    }
}
