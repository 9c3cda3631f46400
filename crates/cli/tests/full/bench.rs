//! RDMA measured between two real kernels, over Soft-RoCE.

use std::process::{Command, Output};

use crosstie_lab::Lab;
use serde_json::Value;

use crate::common::{
    lab::sh,
    sshd::crosstie,
    ups::{nodes, proven_two_sparks},
};

fn bench(lab: &Lab, arguments: &[&str]) -> Output {
    Command::new(crosstie())
        .args(["bench", "--json", "--sudo", "--seconds", "1"])
        .args(nodes(lab))
        .args(arguments)
        .arg("--ssh-config")
        .arg(lab.ssh_config())
        .output()
        .unwrap()
}

fn told(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)))
}

fn no_worker_is_left(lab: &Lab) {
    for node in nodes(lab) {
        let left = sh(lab, node, "pgrep -af '[c]rosstie.* worker' || true");
        assert_eq!(left, "", "{node}");
    }
}

#[test]
fn full_bench_measures_every_rail_both_ways() {
    let proven = proven_two_sparks();
    let lab = &proven.lab;
    // RDMA needs no open port.
    for node in nodes(lab) {
        sh(
            lab,
            node,
            "nft add table inet strict
             nft add chain inet strict input '{ type filter hook input priority 0; }'
             nft add rule inet strict input iifname != enP7s7 meta l4proto tcp drop",
        );
    }
    for operation in ["write", "read"] {
        let output = bench(lab, &["--operation", operation]);
        let found = told(&output);
        assert_eq!(output.status.code(), Some(0), "{found:#}");
        let rails = found["rails"].as_array().unwrap();
        let devices: Vec<&Value> = rails.iter().map(|rail| &rail["devices"][0]).collect();
        assert_eq!(devices, ["roceP2p1s0f0", "rocep1s0f0"], "{found:#}");
        let both = rails.iter().map(|rail| &rail["bandwidth"]);
        for both in both.chain([&found["all_rails"]]) {
            for way in ["there", "back"] {
                let gbps = both[way]["measured"]["gbps"].as_f64().unwrap();
                assert!(gbps > 0.0, "{found:#}");
            }
        }
        for rail in rails {
            let latency = &rail["latency"]["measured"];
            assert!(
                latency["p50_ns"].as_u64() >= latency["least_ns"].as_u64(),
                "{found:#}"
            );
            assert!(latency["count"].as_u64().unwrap() > 10, "{found:#}");
        }
        no_worker_is_left(lab);
    }
}
