//! Two virtual Sparks do what two real ones do: names, carrier, jumbo frames, RDMA over each twin and both, netplan, reboot.
//!
//! Real QEMU, kernel, systemd, `NetworkManager` and perftest; a missing part fails and names its package.

#![allow(clippy::print_stderr)]
// Scripts read better put together in place.
#![allow(clippy::format_collect)]

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crosstie_lab::{HubProgram, Lab, Lease, NodeState, hub::Fault, lease};

use crate::common::{
    lab::{ASK, sh},
    sshd::crosstie,
};

const TWINS: [(&str, &str, u8); 2] = [
    ("enp1s0f0np0", "rocep1s0f0", 101),
    ("enP2p1s0f0np0", "roceP2p1s0f0", 102),
];

/// Says where a slow run spends its time (`--nocapture`).
struct Timed(Instant);

impl Timed {
    fn start() -> Self {
        Self(Instant::now())
    }

    fn step(&mut self, what: &str) {
        eprintln!("{:6.1} s  {what}", self.0.elapsed().as_secs_f64());
        self.0 = Instant::now();
    }
}

fn two_sparks() -> Lease {
    let hub = HubProgram::crosstie(crosstie());
    lease("two-sparks", hub).unwrap_or_else(|error| panic!("{}", explain(&error)))
}

fn explain(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", explain(source)),
        None => error.to_string(),
    }
}

fn fails(lab: &Lab, node: &str, script: &str) -> bool {
    lab.exec_as_root(node, &["sh", "-c", script], ASK)
        .unwrap()
        .code
        != Some(0)
}

/// Addresses for both twins by netplan, as a person would write them.
fn configure(lab: &Lab) {
    std::thread::scope(|scope| {
        for (number, node) in [(1, "spark-a"), (2, "spark-b")] {
            scope.spawn(move || {
                let ethernets: String = TWINS
                    .iter()
                    .map(|(netdev, _, subnet)| {
                        format!(
                            "    {netdev}:\n      mtu: 9000\n      addresses: [192.168.{subnet}.{number}/24]\n"
                        )
                    })
                    .collect();
                sh(
                    lab,
                    node,
                    &format!(
                        "umask 077; cat > /etc/netplan/60-fabric.yaml <<'EOF'\nnetwork:\n  version: 2\n  ethernets:\n{ethernets}EOF\n\
                         printf 'net.ipv4.conf.all.arp_ignore=1\\nnet.ipv4.conf.all.arp_announce=2\\n' > /etc/sysctl.d/60-fabric.conf\n\
                         sysctl -q -p /etc/sysctl.d/60-fabric.conf; netplan apply"
                    ),
                );
            });
        }
    });
    wait_for_pings(lab);
}

/// 9000 bytes with the don't-fragment bit, over each twin.
fn wait_for_pings(lab: &Lab) {
    for (netdev, _, subnet) in TWINS {
        sh(
            lab,
            "spark-a",
            &format!(
                "for i in $(seq 30); do ping -q -c 1 -W 2 -M do -s 8972 -I {netdev} 192.168.{subnet}.2 && exit 0; sleep 1; done; ip addr >&2; exit 1"
            ),
        );
    }
}

/// `ib_write_bw` on some of the twins at once.
fn write_bandwidth(lab: &Lab, twins: &[(&str, &str, u8)]) {
    let run = |server: bool| -> String {
        twins
            .iter()
            .map(|(_, rdma, subnet)| {
                let peer = if server {
                    String::new()
                } else {
                    format!("192.168.{subnet}.2")
                };
                format!(
                    "timeout 80 ib_write_bw -F -n 100 -s 65536 -d {rdma} -p 18{subnet} {peer} > /tmp/bw.{subnet} 2>&1 & jobs=\"$jobs $!\"; "
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
            .map(|(_, _, subnet)| format!("ss -Hltn sport = :18{subnet} | grep -q . || exit 1; "))
            .collect();
        sh(
            lab,
            "spark-b",
            &format!("for i in $(seq 40); do ({listening}) && exit 0; sleep 0.5; done; exit 1"),
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
    let mut timed = Timed::start();
    let lab = two_sparks();
    timed.step("two_sparks");
    names_are_the_real_ones(&lab, "spark-a");
    timed.step("names_are_the_real_ones");
    nodes_are_themselves(&lab);
    timed.step("nodes_are_themselves");
    configure(&lab);
    timed.step("configure");
    heard_by_both_twins(&lab);
    timed.step("heard_by_both_twins");
    write_bandwidth(&lab, &TWINS[..1]);
    timed.step("write_bandwidth");
    write_bandwidth(&lab, &TWINS[1..]);
    timed.step("write_bandwidth");
    write_bandwidth(&lab, &TWINS);
    timed.step("write_bandwidth");
    lab.reboot("spark-b").unwrap();
    timed.step("lab_reboot");
    names_are_the_real_ones(&lab, "spark-b");
    timed.step("names_are_the_real_ones");
    wait_for_pings(&lab);
    timed.step("wait_for_pings");
    write_bandwidth(&lab, &TWINS[..1]);
    timed.step("write_bandwidth");
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
    let whoami = lab.exec("spark-a", &["sh", "-c", "id -un; sudo -n id -un"], ASK);
    assert_eq!(whoami.unwrap().stdout, "lab\nroot\n");
}

#[test]
fn lab_faults_are_seen_by_the_nodes_and_reset_heals_them() {
    let lab = two_sparks();
    configure(&lab);
    let ping = "ping -q -c 3 -i 0.3 -W 2 -M do -s 8972 192.168.101.2";
    let carrier = "cat /sys/class/net/enP2p1s0f0np0/carrier";

    lab.fault("spark-a:enp1s0f0np0", Fault::Cut).unwrap();
    for node in ["spark-a", "spark-b"] {
        let script = format!(
            "for i in $(seq 20); do [ \"$({carrier})\" = 0 ] && break; sleep 0.5; done; {carrier}; rdma link show rocep1s0f0/1"
        );
        let seen = sh(&lab, node, &script);
        assert!(
            seen.starts_with('0') && seen.contains("DOWN"),
            "{node}: {seen}"
        );
    }
    lab.restore("spark-a").unwrap();
    wait_for_pings(&lab);

    lab.fault("spark-b:p0", Fault::Mtu(1500)).unwrap();
    assert!(fails(&lab, "spark-a", ping));
    sh(&lab, "spark-a", "ping -q -c 3 -W 3 192.168.101.2");
    lab.restore("spark-b:p0").unwrap();

    lab.fault("spark-a:p0", Fault::Loss(1.0)).unwrap();
    assert!(fails(&lab, "spark-a", ping));
    lab.restore("spark-a:p0").unwrap();

    lab.fault("spark-a:p0", Fault::DelayMicros(200_000))
        .unwrap();
    let slow = sh(&lab, "spark-a", ping);
    let least: f64 = slow
        .lines()
        .find_map(|line| line.strip_prefix("rtt min/avg/max/mdev = "))
        .and_then(|rest| rest.split('/').next())
        .and_then(|least| least.parse().ok())
        .unwrap();
    assert!(least >= 400.0, "{slow}");

    lab.pause("spark-b").unwrap();
    assert_eq!(lab.status().nodes[1].state, NodeState::Paused);
    lab.kill("spark-b").unwrap();
    assert_eq!(lab.status().nodes[1].state, NodeState::Off);
    sh(
        &lab,
        "spark-a",
        &format!(
            "for i in $(seq 20); do [ \"$({carrier})\" = 0 ] && exit 0; sleep 0.5; done; exit 1"
        ),
    );

    lab.reset_all().unwrap();
    assert!(lab.faults().unwrap().faults.is_empty());
    assert!(fails(
        &lab,
        "spark-a",
        "test -e /etc/netplan/60-fabric.yaml"
    ));
    assert_eq!(sh(&lab, "spark-a", carrier), "1\n");
    sh(&lab, "spark-b", "true");
}

#[test]
fn lab_command_that_hangs_is_told_with_what_the_node_runs() {
    let lab = two_sparks();
    let script = "[ -d / ] && echo begun && sleep 97; true";
    let error = lab
        .exec_as_root("spark-a", &["sh", "-c", script], Duration::from_secs(20))
        .unwrap_err()
        .to_string();
    for told in ["spark-a", script, "it had said: begun", "console"] {
        assert!(error.contains(told), "{error}");
    }
    let runs = lab.what_runs("spark-a");
    assert!(runs.contains(script) && runs.contains("sleep 97"), "{runs}");
    lab.kill("spark-a").unwrap();
    let runs = lab.what_runs("spark-a");
    assert!(runs.starts_with("the node does not say: "), "{runs}");
}

#[test]
fn lab_power_cut_loses_what_was_not_written_and_boots_again() {
    let lab = two_sparks();
    sh(
        &lab,
        "spark-b",
        "echo kept > /var/lib/kept; sync; echo lost > /var/lib/lost",
    );
    lab.power_cut("spark-b").unwrap();
    assert_eq!(sh(&lab, "spark-b", "cat /var/lib/kept"), "kept\n");
    assert!(fails(&lab, "spark-b", "grep lost /var/lib/lost"));
    names_are_the_real_ones(&lab, "spark-b");
}
