//! Two virtual Sparks do what two real ones do: names, carrier, jumbo frames, RDMA over each twin and both.
//!
//! Real QEMU, kernel, systemd, `NetworkManager` and perftest; a missing part fails and names its package.

// Scripts read better put together in place.
#![allow(clippy::format_collect)]

use std::time::{SystemTime, UNIX_EPOCH};

use crosstie_lab::{Lab, LabNodeState, hub::CableFault};

use crate::common::{
    lab::{COMMAND_TIMEOUT, sh},
    ups::proven_two_sparks,
};

/// On the cable, each with its interface.
const TWINS: [(&str, &str); 2] = [
    ("rocep1s0f0", "enp1s0f0np0"),
    ("roceP2p1s0f0", "enP2p1s0f0np0"),
];

fn fails(lab: &Lab, node: &str, script: &str) -> bool {
    lab.exec_as_root(node, &["sh", "-c", script], COMMAND_TIMEOUT)
        .unwrap()
        .code
        != Some(0)
}

/// The second node's address on an interface.
fn peer(lab: &Lab, netdev: &str) -> String {
    let script = format!("ip -o -4 addr show dev {netdev} scope global | awk '{{ print $4 }}'");
    let shown = sh(lab, "spark-b", &script);
    let (address, _) = shown.split_once('/').unwrap();
    address.to_owned()
}

/// 9000 bytes with the don't-fragment bit, over each twin.
fn wait_for_pings(lab: &Lab) {
    for (_, netdev) in TWINS {
        let address = peer(lab, netdev);
        sh(
            lab,
            "spark-a",
            &format!(
                "for i in $(seq 30); do ping -q -c 1 -W 2 -M do -s 8972 -I {netdev} {address} && exit 0; sleep 1; done; ip addr >&2; exit 1"
            ),
        );
    }
}

/// `ib_write_bw` from the first node to the second, on some of the twins at once.
pub(super) fn write_bandwidth(lab: &Lab, devices: &[&str]) {
    let twins: Vec<(usize, &str, String)> = TWINS
        .iter()
        .enumerate()
        .filter(|(_, (rdma, _))| devices.contains(rdma))
        .map(|(number, (rdma, netdev))| (18_510 + number, *rdma, peer(lab, netdev)))
        .collect();
    let run = |server: bool| -> String {
        twins
            .iter()
            .map(|(port, rdma, address)| {
                let peer = if server { "" } else { address };
                format!(
                    "timeout 80 ib_write_bw -F -n 100 -s 65536 -d {rdma} -p {port} {peer} > /tmp/bw.{port} 2>&1 & jobs=\"$jobs $!\"; "
                )
            })
            .collect()
    };
    let wait = "for j in $jobs; do wait $j || { cat /tmp/bw.* >&2; exit 1; }; done; grep -h -A1 '#bytes' /tmp/bw.*";
    std::thread::scope(|scope| {
        let server = scope.spawn(|| {
            sh(
                lab,
                "spark-b",
                &format!("rm -f /tmp/bw.*; {}{wait}", run(true)),
            )
        });
        let listening: String = twins
            .iter()
            .map(|(port, ..)| format!("ss -Hltn sport = :{port} | grep -q . || exit 1; "))
            .collect();
        sh(
            lab,
            "spark-b",
            &format!("for i in $(seq 200); do ({listening}) && exit 0; sleep 0.1; done; exit 1"),
        );
        let out = sh(
            lab,
            "spark-a",
            &format!("rm -f /tmp/bw.*; {}{wait}", run(false)),
        );
        assert_eq!(out.matches("65536").count(), twins.len(), "{out}");
        server.join().unwrap();
    });
}

/// A frame of our own `EtherType` on one twin, heard by both twins of the other end.
fn heard_by_both_twins(lab: &Lab) {
    let listen = "rm -f /tmp/heard.*; \
        for i in enp1s0f0np0 enP2p1s0f0np0; do \
          setsid timeout 120 tcpdump -lnn -c 1 -i $i ether proto 0x88b5 > /tmp/heard.$i 2> /tmp/heard.err.$i < /dev/null & \
        done; \
        for i in $(seq 100); do [ $(cat /tmp/heard.err.* | grep -c listening) = 2 ] && exit 0; sleep 0.3; done; exit 1";
    let send = "import socket\n\
                s=socket.socket(socket.AF_PACKET,socket.SOCK_RAW)\n\
                s.bind(('enp1s0f0np0',0))\n\
                s.send(b'\\xff'*6+s.getsockname()[4]+b'\\x88\\xb5'+b'crosstie'*8)\n";
    let heard = "for i in $(seq 60); do [ -s /tmp/heard.enp1s0f0np0 ] && [ -s /tmp/heard.enP2p1s0f0np0 ] && exit 0; sleep 0.3; done; exit 1";
    sh(lab, "spark-b", listen);
    sh(lab, "spark-a", &format!("python3 -c \"{send}\""));
    sh(lab, "spark-b", heard);
}

fn names_are_the_real_ones(lab: &Lab, node: &str) {
    let links = sh(
        lab,
        node,
        "for i in $(seq 30); do [ $(rdma link | wc -l) = 4 ] && break; sleep 1; done; rdma link",
    );
    for (netdev, rdma) in [
        ("enp1s0f0np0", "rocep1s0f0"),
        ("enp1s0f1np1", "rocep1s0f1"),
        ("enP2p1s0f0np0", "roceP2p1s0f0"),
        ("enP2p1s0f1np1", "roceP2p1s0f1"),
    ] {
        let line = links
            .lines()
            .find(|line| line.contains(&format!("{rdma}/1 ")))
            .unwrap_or_else(|| panic!("{rdma} is missing: {links}"));
        assert!(line.trim_end().ends_with(netdev), "{line}");
        let state = if netdev.ends_with("np0") {
            "ACTIVE"
        } else {
            "DOWN"
        };
        assert!(line.contains(&format!("state {state}")), "{line}");
    }
    assert!(sh(lab, node, "ls /sys/class/net").contains("enP7s7"));
    assert_eq!(
        sh(lab, node, "nmcli -t -f RUNNING general").trim(),
        "running"
    );
}

#[test]
fn lab_two_sparks_do_what_real_ones_do() {
    let proven = proven_two_sparks();
    let lab = &proven.lab;
    names_are_the_real_ones(lab, "spark-a");
    nodes_are_themselves(lab);
    heard_by_both_twins(lab);
    let [(first, _), (second, _)] = TWINS;
    write_bandwidth(lab, &[first]);
    write_bandwidth(lab, &[second]);
    write_bandwidth(lab, &[first, second]);
}

/// Own identity, own GUIDs, today's clock, a user with sudo.
fn nodes_are_themselves(lab: &Lab) {
    let each = |script: &str| ["spark-a", "spark-b"].map(|node| sh(lab, node, script));
    let [a, b] = each(
        "hostname; cat /etc/machine-id /etc/ssh/ssh_host_ed25519_key.pub; \
         cat /sys/class/infiniband/rocep1s0f0/node_guid /proc/sys/kernel/random/boot_id",
    );
    for (a, b) in a.lines().zip(b.lines()) {
        assert_ne!(a, b);
    }
    let now = || {
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap()
            .as_secs()
            .cast_signed()
    };
    for clock in each("date +%s") {
        let off = clock.trim().parse::<i64>().unwrap() - now();
        assert!(off.abs() < 30, "the clock is {off} s off");
    }
    let whoami = lab.exec(
        "spark-a",
        &["sh", "-c", "id -un; sudo -n id -un"],
        COMMAND_TIMEOUT,
    );
    assert_eq!(whoami.unwrap().stdout, "lab\nroot\n");
}

#[test]
fn lab_faults_are_seen_by_the_nodes_and_reset_heals_them() {
    let proven = proven_two_sparks();
    let lab = &proven.lab;
    let address = peer(lab, "enp1s0f0np0");
    let ping = &format!("ping -q -c 3 -i 0.3 -W 2 -M do -s 8972 {address}");
    let carrier = "cat /sys/class/net/enP2p1s0f0np0/carrier";

    lab.fault("spark-a:enp1s0f0np0", CableFault::Cut).unwrap();
    for node in ["spark-a", "spark-b"] {
        let script = format!(
            "for i in $(seq 20); do [ \"$({carrier})\" = 0 ] && break; sleep 0.5; done; {carrier}; rdma link show rocep1s0f0/1"
        );
        let seen = sh(lab, node, &script);
        assert!(
            seen.starts_with('0') && seen.contains("DOWN"),
            "{node}: {seen}"
        );
    }
    lab.restore("spark-a").unwrap();
    wait_for_pings(lab);

    lab.fault("spark-b:p0", CableFault::Mtu(1500)).unwrap();
    assert!(fails(lab, "spark-a", ping));
    sh(lab, "spark-a", &format!("ping -q -c 3 -W 3 {address}"));
    lab.restore("spark-b:p0").unwrap();

    lab.fault("spark-a:p0", CableFault::Loss(1.0)).unwrap();
    assert!(fails(lab, "spark-a", ping));
    lab.restore("spark-a:p0").unwrap();

    lab.fault("spark-a:p0", CableFault::DelayMicros(200_000))
        .unwrap();
    let slow = sh(lab, "spark-a", ping);
    let least: f64 = slow
        .lines()
        .find_map(|line| line.strip_prefix("rtt min/avg/max/mdev = "))
        .and_then(|rest| rest.split('/').next())
        .and_then(|least| least.parse().ok())
        .unwrap();
    assert!(least >= 400.0, "{slow}");

    lab.pause("spark-b").unwrap();
    assert_eq!(lab.status().nodes[1].state, LabNodeState::Paused);
    lab.kill("spark-b").unwrap();
    assert_eq!(lab.status().nodes[1].state, LabNodeState::Off);
    sh(
        lab,
        "spark-a",
        &format!(
            "for i in $(seq 20); do [ \"$({carrier})\" = 0 ] && exit 0; sleep 0.5; done; exit 1"
        ),
    );

    lab.reset_all().unwrap();
    assert!(lab.faults().unwrap().faults.is_empty());
    assert!(fails(lab, "spark-a", "ls /etc/netplan/*crosstie*"));
    assert_eq!(sh(lab, "spark-a", carrier), "1\n");
    sh(lab, "spark-b", "true");
}
