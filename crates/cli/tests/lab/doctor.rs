//! The doctor at two real nodes: each fault is made on them, named over ssh, and gone once it is mended.

use std::{path::Path, process::Command};

use crosstie_lab::{Lab, hub::CableFault};
use serde_json::Value;

use crate::common::{lab::sh, sshd::crosstie, ups::proven_two_sparks};

const NODES: [&str; 2] = ["spark-a", "spark-b"];

/// How a fault is made, how it is mended, and what the doctor calls it, on which node.
struct Case {
    make: &'static str,
    mend: &'static str,
    expect: &'static [(&'static str, &'static str)],
}

/// Made all at once on spark-a, whose neighbour stays as it was; none of them hides another.
const TOGETHER: &[Case] = &[
    Case {
        make: "ip link set enp1s0f0np0 mtu 1500",
        mend: "ip link set enp1s0f0np0 mtu 9000",
        expect: &[
            ("spark-a", "mtu-small"),
            ("spark-a", "twin-mtu-differs"),
            ("cluster", "mtu-mismatch"),
        ],
    },
    Case {
        make: "nft add table inet strict
            nft add chain inet strict input '{ type filter hook input priority 0; policy drop; }'
            nft add rule inet strict input iifname lo accept
            nft add rule inet strict input iifname enP7s7 accept",
        mend: "nft delete table inet strict",
        expect: &[("spark-a", "firewall-blocks-fabric")],
    },
    Case {
        make: "printf '* - memlock 64\\n' > /etc/security/limits.d/99-small.conf",
        mend: "rm /etc/security/limits.d/99-small.conf",
        expect: &[("spark-a", "memlock-limited")],
    },
    Case {
        make: "ip addr add TWIN_SUBNET.77/24 dev enP2p1s0f0np0",
        mend: "ip addr del TWIN_SUBNET.77/24 dev enP2p1s0f0np0",
        expect: &[("spark-a", "twins-same-subnet")],
    },
    Case {
        make: "sysctl -q net.ipv4.conf.enp1s0f0np0.arp_ignore=0",
        mend: "sysctl -q net.ipv4.conf.enp1s0f0np0.arp_ignore=1",
        expect: &[("spark-a", "arp-flux")],
    },
    Case {
        make: "cp /etc/machine-id /etc/machine-id.own; printf '%s\\n' OTHER_MACHINE_ID > /etc/machine-id",
        mend: "mv /etc/machine-id.own /etc/machine-id",
        expect: &[("cluster", "node-cloned")],
    },
    Case {
        make: "mv /etc/netplan/90-crosstie.yaml /etc/90-crosstie.yaml.away",
        mend: "mv /etc/90-crosstie.yaml.away /etc/netplan/90-crosstie.yaml",
        expect: &[("spark-a", "fabric-not-persistent")],
    },
];

/// A twin that is down has no address, no MTU and no ARP to be judged by.
const TWIN: &[Case] = &[Case {
    make: "ip link set enP2p1s0f0np0 down",
    mend: "ip link set enP2p1s0f0np0 up",
    expect: &[("spark-a", "twin-down")],
}];

/// A lab has no way out, and so no time service: that is true of it.
const TRUE_OF_LABS: &str = "clock-unsynchronised";

/// Host and id of every other fault and warning.
fn doctor(lab: &Lab, cluster: &Path) -> Vec<(String, String)> {
    let output = Command::new(crosstie())
        .args(["doctor", "--json", "--sudo", "--interval", "0"])
        .arg("--cluster")
        .arg(cluster)
        .arg("--ssh-config")
        .arg(lab.ssh_config())
        .output()
        .unwrap();
    let value: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    let mut found = Vec::new();
    let mut add = |host: &str, findings: &Value| {
        for finding in findings.as_array().unwrap() {
            if finding["severity"] != "info" && finding["id"] != TRUE_OF_LABS {
                found.push((host.to_owned(), finding["id"].as_str().unwrap().to_owned()));
            }
        }
    };
    for node in value["nodes"].as_array().unwrap() {
        assert!(node.get("error").is_none(), "{node}");
        add(node["host"].as_str().unwrap(), &node["findings"]);
    }
    add("cluster", &value["cluster"]);
    found
}

fn owned((host, id): (&str, &str)) -> (String, String) {
    (host.to_owned(), id.to_owned())
}

#[test]
fn lab_doctor_names_each_fault_and_sees_it_mended() {
    let proven = proven_two_sparks();
    let (lab, cluster) = (&proven.lab, &proven.cluster);
    let other = sh(lab, "spark-b", "cat /etc/machine-id");
    let subnet = sh(
        lab,
        "spark-a",
        "ip -o -4 addr show dev enp1s0f0np0 scope global | awk '{ print $4 }' | cut -d . -f 1-3",
    );
    assert_eq!(doctor(lab, cluster), [], "up, and nothing is wrong");

    let script = |cases: &[Case], part: fn(&Case) -> &str| {
        let parts: Vec<&str> = cases.iter().map(part).collect();
        let text = format!("set -e\n{}\n", parts.join("\n"));
        text.replace("OTHER_MACHINE_ID", other.trim())
            .replace("TWIN_SUBNET", subnet.trim())
    };
    let make = |cases| script(cases, |case| case.make);
    let mend = |cases| script(cases, |case| case.mend);
    let expected = |cases: &[Case]| -> Vec<(String, String)> {
        let expected = cases.iter().flat_map(|case| case.expect);
        expected.copied().map(owned).collect()
    };

    sh(lab, "spark-a", &make(TOGETHER));
    let found = doctor(lab, cluster);
    for wanted in expected(TOGETHER) {
        assert!(found.contains(&wanted), "no {wanted:?} in {found:?}");
    }
    // One look sees that these are gone, and the next fault.
    sh(lab, "spark-a", &(mend(TOGETHER) + &make(TWIN)));
    let found = doctor(lab, cluster);
    for wanted in expected(TWIN) {
        assert!(found.contains(&wanted), "no {wanted:?} in {found:?}");
    }
    for mended in expected(TOGETHER) {
        assert!(!found.contains(&mended), "mended, and still {found:?}");
    }
    sh(lab, "spark-a", &mend(TWIN));
    // The manager takes a moment to bring an interface back.
    let mut looks = (0..10).map(|_| doctor(lab, cluster));
    let clean = looks.any(|left| left.is_empty());
    assert!(clean, "mended, and still {:?}", doctor(lab, cluster));

    lab.fault("spark-a:p0", CableFault::Cut).unwrap();
    let down = NODES.map(|node| owned((node, "fabric-port-down")));
    let cable = owned(("cluster", "cable-dead"));
    let mut looks = (0..10).map(|_| doctor(lab, cluster));
    let seen = looks.any(|found| {
        down.iter()
            .chain([&cable])
            .all(|wanted| found.contains(wanted))
    });
    assert!(seen, "a cut cable is not seen");
}
