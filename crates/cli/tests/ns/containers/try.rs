//! `crosstie try` on a real node: kept, refused, failed, and one that cuts the node off.

#![allow(clippy::print_stdout)] // how long a node was cut off is worth knowing

use std::{path::Path, time::Instant};

use crosstie_lab::Lab;

use crate::common::{
    changes::{json, run, same, shape, wait_for, wait_until_settled},
    inits,
    lab::{containers, sh},
};

const NODE: &str = "spark-a";
const ADD: &str = "ip address add 198.51.100.7/32 dev enp1s0f0np0";
/// NetworkManager begins DHCP anew on a port of its own, and flushes addresses that others added when it does.
const LEAVE_ALONE: &str = "nmcli device set enp1s0f0np0 managed no; ip link set enp1s0f0np0 up";

struct TryLab<'a> {
    lab: &'a Lab,
    cluster: &'a Path,
    before: String,
}

impl TryLab<'_> {
    /// What it said, and whether all is well.
    fn tries(&self, options: &[&str], script: &str) -> (String, bool) {
        let command = [&["try"], options, &[NODE, "--", "sh", "-c", script]].concat();
        let output = run(self.lab, self.cluster, &command);
        let said = [&output.stdout[..], &output.stderr].concat();
        let said = String::from_utf8_lossy(&said).into_owned();
        (said, output.status.success())
    }

    /// It says so, and the node is what it was.
    fn is_undone(&self, options: &[&str], script: &str, words: &str) {
        let (said, well) = self.tries(options, script);
        assert!(!well && said.contains(words), "{script}: {said}");
        wait_for(self.lab, NODE);
        wait_until_settled(self.lab, NODE);
        same(script, &self.before, &shape(self.lab, NODE));
    }
}

#[test]
fn try_keeps_what_works_and_was_wanted() {
    let directory = tempfile::tempdir().unwrap();
    let cluster = directory.path().join("cluster.toml");
    let lab = containers("two-sparks");
    inits::json(&lab, &[NODE, "spark-b"], &cluster);
    sh(&lab, NODE, LEAVE_ALONE);
    wait_until_settled(&lab, NODE);
    let place = TryLab {
        lab: &lab,
        cluster: &cluster,
        before: shape(&lab, NODE),
    };
    place.is_undone(&[], ADD, "there is no terminal to ask on");
    let fails = format!("{ADD}; echo changed >> /etc/issue; exit 3");
    let options = ["--yes", "--file", "/etc/issue"];
    place.is_undone(&options, &fails, "the command failed");

    let began = Instant::now();
    let cuts_off = "ip link set enP7s7 down";
    place.is_undone(&["--yes", "--for", "30s"], cuts_off, "spark-a");
    println!("cut off and back within {} s", began.elapsed().as_secs());

    let (said, well) = place.tries(&["--yes"], ADD);
    assert!(well && said.contains("confirmed"), "{said}");
    let shown = sh(&lab, NODE, "ip -o address show dev enp1s0f0np0");
    assert!(shown.contains("198.51.100.7"), "{shown}");
    json(&lab, &cluster, 0, &["rollback", NODE, "--yes"]);
    same(NODE, &place.before, &shape(&lab, NODE));
}

/// Others have used the node since.
#[test]
fn a_kept_trial_is_rolled_back_and_what_others_did_since_stays() {
    const OTHERS: &str = "nft add table inet others; ip link add br-others type bridge; \
         ip address add 203.0.113.9/32 dev br-others; ip rule add from 203.0.113.9 table 88; \
         ip link set enP2p1s0f0np0 mtu 1400";
    const TRIED: &str = "ip address add 198.51.100.7/32 dev enp1s0f0np0; nft add table inet tried; \
         ip link set enP2p1s0f0np0 mtu 2000; ip link add br-tried type bridge";
    let directory = tempfile::tempdir().unwrap();
    let cluster = directory.path().join("cluster.toml");
    let lab = containers("two-sparks");
    inits::json(&lab, &[NODE, "spark-b"], &cluster);
    sh(&lab, NODE, PREPARE);
    let place = TryLab {
        lab: &lab,
        cluster: &cluster,
        before: String::new(),
    };
    let (said, well) = place.tries(&["--yes"], TRIED);
    assert!(well, "{said}");
    sh(&lab, NODE, OTHERS);
    let rolled_back = json(&lab, &cluster, 0, &["rollback", NODE, "--yes"]);
    let shown = sh(&lab, NODE, NETWORK);
    for theirs in ["table inet others", "br-others", "203.0.113.9", "mtu 1400"] {
        assert!(shown.contains(theirs), "{theirs}: {shown}\n{rolled_back:#}");
    }
    for gone in ["198.51.100.7", "table inet tried", "br-tried"] {
        assert!(!shown.contains(gone), "{gone}: {shown}\n{rolled_back:#}");
    }
    // Both have changed it: that is told, and nobody loses anything.
    let left = "the MTU of enP2p1s0f0np0 was changed since";
    assert!(rolled_back.to_string().contains(left), "{rolled_back:#}");
}

/// What a command can do to a running network, and what it was before.
const NETWORK: &str = "nft -s list ruleset; ip rule; ip -6 rule; ip nexthop; ip route show table all | grep -v 'table local\\|proto ra\\|^fe80\\|^ff00\\|multicast' | sort; \
     ip -o link | sed 's/^[0-9]*: //; s/@[^:]*//; s/ qlen.*//' | sort; ip -o -4 addr | sed 's/^[0-9]*: //' | sort; \
     cat /proc/sys/net/ipv4/conf/enp1s0f0np0/arp_ignore";
const PREPARE: &str = "set -e
    nmcli device set enp1s0f0np0 managed no; nmcli device set enP2p1s0f0np0 managed no
    ip link set enp1s0f0np0 up; ip link set enP2p1s0f0np0 up
    ip address add 192.0.2.1/24 dev enp1s0f0np0; ip address add 198.51.100.1/24 dev enP2p1s0f0np0
    nft add table inet mine; nft add chain inet mine input '{ type filter hook input priority 0; }'
    nft add rule inet mine input tcp dport 9 drop
    ip rule add from 192.0.2.0/24 table 77; ip route add default via 192.0.2.9 table 77
    ip route add 203.0.113.0/24 nexthop via 192.0.2.9 nexthop via 198.51.100.9
    ip nexthop add id 5 via 192.0.2.9 dev enp1s0f0np0; ip route add 203.0.113.64/26 nhid 5
    ip link add br-mine type bridge";
const WRECK: &str = "nft flush ruleset; ip rule delete table 77; ip route flush table 77; \
    ip route delete 203.0.113.0/24; ip nexthop delete id 5; ip link delete br-mine; ip link add br-new type bridge; \
    ip address flush dev enP2p1s0f0np0; ip link set enp1s0f0np0 mtu 1400; ip link set enP2p1s0f0np0 down; \
    echo 1 > /proc/sys/net/ipv4/conf/enp1s0f0np0/arp_ignore; exit 1";

#[test]
fn try_undoes_the_firewall_rules_routes_and_links() {
    let directory = tempfile::tempdir().unwrap();
    let cluster = directory.path().join("cluster.toml");
    let lab = containers("two-sparks");
    inits::json(&lab, &[NODE, "spark-b"], &cluster);
    sh(&lab, NODE, PREPARE);
    let before = sh(&lab, NODE, NETWORK);
    let command = ["try", NODE, "--yes", "--", "sh", "-c", WRECK];
    let output = run(&lab, &cluster, &command);
    let said = [&output.stdout[..], &output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(said.contains("the command failed"), "{said}");
    wait_until_settled(&lab, NODE);
    same(&said, &before, &sh(&lab, NODE, NETWORK));
}

/// A firewall that cannot be read could not be restored: said before the command runs.
#[test]
fn try_refuses_what_it_could_not_undo() {
    let directory = tempfile::tempdir().unwrap();
    let cluster = directory.path().join("cluster.toml");
    let lab = containers("two-sparks");
    inits::json(&lab, &[NODE, "spark-b"], &cluster);
    let broken = "nft add table inet mine; printf '#!/bin/sh\\nexit 1\\n' > /run/broken; chmod 755 /run/broken; \
         mount --bind /run/broken /usr/sbin/nft";
    sh(&lab, NODE, broken);
    let tried = |options: &[&str]| {
        let command = [&["try"], options, &[NODE, "--", "touch", "/run/ran"]].concat();
        let output = run(&lab, &cluster, &command);
        let said = [&output.stdout[..], &output.stderr].concat();
        String::from_utf8_lossy(&said).into_owned()
    };
    let said = tried(&["--yes"]);
    assert!(
        said.contains("firewall") && said.contains("--force"),
        "{said}"
    );
    sh(&lab, NODE, "! test -e /run/ran");
    tried(&["--yes", "--force"]);
    sh(&lab, NODE, "test -e /run/ran");
}

/// What the rollback could not read it cannot tell from what others do since: said until somebody has looked.
#[test]
fn uninstall_does_not_forget_a_firewall_that_a_rollback_could_not_restore() {
    let directory = tempfile::tempdir().unwrap();
    let cluster = directory.path().join("cluster.toml");
    let lab = containers("two-sparks");
    inits::json(&lab, &[NODE, "spark-b"], &cluster);
    let hidden = "mv /usr/sbin/nft /usr/sbin/nft.hidden; nft.hidden add table inet tried";
    let command = ["try", NODE, "--", "sh", "-c", hidden];
    let output = run(&lab, &cluster, &command);
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("firewall"), "{said}");
    sh(&lab, NODE, "mv /usr/sbin/nft.hidden /usr/sbin/nft");
    let output = run(&lab, &cluster, &["uninstall", NODE, "--yes"]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(
        said.contains("firewall") && said.contains("remove it when"),
        "{said}"
    );
    let status = json(&lab, &cluster, 1, &["status", NODE]);
    assert!(status.to_string().contains("firewall"), "{status:#}");
}

/// An address that somebody set by hand: NetworkManager calls the port connected externally, and has no profile of it.
#[test]
fn a_rollback_makes_no_profile_where_there_was_none() {
    let directory = tempfile::tempdir().unwrap();
    let cluster = directory.path().join("cluster.toml");
    let lab = containers("two-sparks");
    inits::json(&lab, &[NODE, "spark-b"], &cluster);
    let by_hand = "printf '[main]\\nno-auto-default=*\\n' > /etc/NetworkManager/conf.d/10-noauto.conf; \
         systemctl restart NetworkManager; nmcli device disconnect enp1s0f0np0; ip link set enp1s0f0np0 up; \
         ip address add 198.51.100.7/24 dev enp1s0f0np0; sleep 3";
    sh(&lab, NODE, by_hand);
    wait_until_settled(&lab, NODE);
    let profiles = || sh(&lab, NODE, "ls /etc/NetworkManager/system-connections");
    let before = (profiles(), shape(&lab, NODE));
    json(&lab, &cluster, 0, &["apply", NODE, "--yes"]);
    json(&lab, &cluster, 0, &["rollback", NODE, "--yes"]);
    wait_until_settled(&lab, NODE);
    assert_eq!(profiles(), before.0);
    same(NODE, &before.1, &shape(&lab, NODE));
}

const TREES: &str = "mkdir -p /etc/frr/conf.d/empty; echo main > /etc/frr/frr.conf; echo nested > /etc/frr/conf.d/nested.conf; \
     chmod 640 /etc/frr/conf.d; echo good > /opt/linked.conf; ln -s /opt/linked.conf /etc/linked.conf";

const WRECK_TREES: &str = "rm -rf /etc/frr/conf.d; mkdir -p /etc/frr/new; echo new > /etc/frr/new/file; chmod 777 /etc/frr; \
     echo BAD > /etc/linked.conf; echo BAD > /etc/NetworkManager/NetworkManager.conf; chown 1000 /etc/netplan; \
     mkdir -p /etc/systemd/resolved.conf.d; echo BAD > /etc/systemd/resolved.conf.d/bad.conf; nmcli networking off; exit 3";

const TREES_NOW: &str = "find /etc /opt/linked.conf -path /etc/machine-id -prune -o -printf '%p %y %m %U %G %l\\n' | sort; \
     cd /etc; grep -r . frr linked.conf NetworkManager/NetworkManager.conf; nmcli networking";

/// Folders with all that is in them, what a link leads to, and what a manager would remember after the next boot.
#[test]
fn try_undoes_folders_and_what_a_manager_remembers() {
    let directory = tempfile::tempdir().unwrap();
    let cluster = directory.path().join("cluster.toml");
    let lab = containers("two-sparks");
    inits::json(&lab, &[NODE, "spark-b"], &cluster);
    sh(&lab, NODE, TREES);
    let before = sh(&lab, NODE, TREES_NOW);
    let files = ["--file", "/etc/frr", "--file", "/etc/linked.conf"];
    let command = [
        &["try", "--for", "30s"],
        &files[..],
        &[NODE, "--", "sh", "-c", WRECK_TREES],
    ]
    .concat();
    let output = run(&lab, &cluster, &command);
    let said = [&output.stdout[..], &output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(!output.status.success(), "{said}");
    wait_for(&lab, NODE);
    wait_until_settled(&lab, NODE);
    same(&said, &before, &sh(&lab, NODE, TREES_NOW));

    let command = ["try", "--file", "/", NODE, "--", "true"];
    let said = String::from_utf8(run(&lab, &cluster, &command).stdout).unwrap();
    assert!(said.contains("more than 2000 files"), "{said}");
}

/// A rollback restores no services: whoever stopped ssh is told, and not that all is as it was.
#[test]
fn a_node_that_is_cut_off_is_said_to_be() {
    let directory = tempfile::tempdir().unwrap();
    let cluster = directory.path().join("cluster.toml");
    let lab = containers("two-sparks");
    inits::json(&lab, &[NODE, "spark-b"], &cluster);
    let stop = "systemctl stop ssh.socket ssh.service";
    let command = ["try", "--for", "30s", "--yes", NODE, "--", "sh", "-c", stop];
    let output = run(&lab, &cluster, &command);
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("the node is cut off"), "{said}");
    assert!(said.contains("Services, for one, stay"), "{said}");
}
