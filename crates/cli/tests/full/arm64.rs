//! The heterogeneous pair: an arm64 Spark and an `x86_64` workstation on one cable, each with the agent of its architecture.
//!
//! One of the two is emulated wherever this runs: its image takes many minutes to build, once.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crosstie_lab::{Arch, Lab, hub::CableFault};
use crosstie_reach::binary::build_of;
use serde_json::Value;

use crate::common::{
    lab::{machines, sh, told},
    sshd::crosstie,
};

const NODES: [(&str, &str, Arch); 2] = [
    ("spark", "enp1s0f0np0", Arch::Arm),
    ("workstation", "enp65s0f0np0", Arch::X86),
];

/// The folder that `--agent-dir` takes.
fn agents() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../dist")
}

/// The one that this machine cannot run itself.
fn foreign() -> Arch {
    let (_, _, arch) = NODES
        .into_iter()
        .find(|(_, _, arch)| *arch != Arch::HOST)
        .unwrap();
    arch
}

fn scan(lab: &Lab, options: &[&str]) -> [Value; 2] {
    let output = Command::new(crosstie())
        .args(["scan", "--json", "--timeout", "120", "spark", "workstation"])
        .arg("--agent-dir")
        .arg(agents())
        .arg("--ssh-config")
        .arg(lab.ssh_config())
        .args(options)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    told(&output)
}

#[test]
fn full_arm64_and_x86_64_are_one_pair() {
    let agent = agents().join(foreign().name()).join("crosstie");
    assert!(
        agent.is_file(),
        "dist/{}/crosstie is missing, and this test is about it: run make dist",
        foreign()
    );
    let lab = machines("mixed-arch");
    each_answers_in_its_own_architecture(&lab, &agent);
    rdma_passes_between_them(&lab);
    a_cut_is_seen_by_both_and_reset_heals_it(&lab);
}

fn each_answers_in_its_own_architecture(lab: &Lab, agent: &Path) {
    for options in [&[][..], &["--sudo"]] {
        let [spark, workstation] = scan(lab, options);
        assert_eq!(
            [&spark["arch"], &workstation["arch"]],
            ["aarch64", "x86_64"]
        );
        assert_eq!(
            [&spark["host"], &workstation["host"]],
            ["spark", "workstation"]
        );
        let twins = ["roceP2p1s0f0", "roceP2p1s0f1", "rocep1s0f0", "rocep1s0f1"];
        assert_eq!(devices(&spark), twins);
        assert_eq!(devices(&workstation), ["mlx5_0", "mlx5_1"]);
    }
    let sum = build_of(agent).unwrap();
    let (node, ..) = NODES
        .iter()
        .find(|(_, _, arch)| *arch == foreign())
        .unwrap();
    let ran = sh(
        lab,
        node,
        "uname -m; ls ~lab/.cache/crosstie/bin /var/lib/crosstie/bin",
    );
    assert!(ran.starts_with(foreign().name()), "{ran}");
    assert_eq!(ran.matches(&sum).count(), 2, "{ran}");
}

fn devices(node: &Value) -> Vec<&str> {
    let ports = node["rdma"].as_array().unwrap().iter();
    let mut names: Vec<&str> = ports
        .inspect(|port| assert_eq!(port["software"], true, "{port:#}"))
        .map(|port| port["name"].as_str().unwrap())
        .collect();
    names.sort_unstable();
    names
}

fn rdma_passes_between_them(lab: &Lab) {
    for (number, (node, netdev, _)) in (1..).zip(NODES) {
        sh(
            lab,
            node,
            &format!(
                "umask 077; printf 'network:\\n  version: 2\\n  ethernets:\\n    {netdev}:\\n      mtu: 9000\\n      \
                 addresses: [192.168.101.{number}/24]\\n' > /etc/netplan/60-fabric.yaml; netplan apply"
            ),
        );
    }
    sh(
        lab,
        "spark",
        "for i in $(seq 30); do ping -q -c 1 -W 2 -M do -s 8972 192.168.101.2 && exit 0; sleep 1; done; ip addr >&2; exit 1",
    );
    let write = "timeout 80 ib_write_bw -F -n 100 -s 65536 -d";
    std::thread::scope(|scope| {
        let server = scope.spawn(|| sh(lab, "workstation", &format!("{write} mlx5_0")));
        sh(
            lab,
            "workstation",
            "for i in $(seq 60); do ss -Hltn sport = :18515 | grep -q . && exit 0; sleep 0.5; done; exit 1",
        );
        let client = sh(lab, "spark", &format!("{write} rocep1s0f0 192.168.101.2"));
        for said in [client, server.join().unwrap()] {
            assert!(
                said.lines().any(|line| line.trim().starts_with("65536 ")),
                "{said}"
            );
        }
    });
}

fn a_cut_is_seen_by_both_and_reset_heals_it(lab: &Lab) {
    let carrier = |node: &str, netdev: &str, wanted: u8| {
        sh(
            lab,
            node,
            &format!(
                "for i in $(seq 40); do [ \"$(cat /sys/class/net/{netdev}/carrier)\" = {wanted} ] && exit 0; sleep 0.5; done; exit 1"
            ),
        );
    };
    lab.fault("spark:p0", CableFault::Cut).unwrap();
    for (node, netdev, _) in NODES {
        carrier(node, netdev, 0);
    }
    lab.reset_all().unwrap();
    // networkd leaves a port down that nobody has configured.
    carrier("spark", "enp1s0f0np0", 1);
    for (node, _, arch) in NODES {
        sh(lab, node, "test ! -e /etc/netplan/60-fabric.yaml");
        assert_eq!(sh(lab, node, "uname -m").trim(), arch.name());
    }
}
