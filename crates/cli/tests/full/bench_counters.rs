//! Counters of both ends around RDMA and TCP between two real kernels.

use crosstie_lab::hub::{CableFault, FaultDirection};
use serde_json::Value;

use crate::common::{
    benches::{bench, told},
    ups::proven_two_sparks,
};

fn findings<'a>(found: &'a Value, run: &str, node: &str) -> Vec<&'a str> {
    let all = found["counter_findings"].as_array().unwrap();
    all.iter()
        .filter(|one| one["run"] == run && one["host"] == node)
        .filter_map(|one| one["counter"].as_str())
        .collect()
}

#[test]
fn full_bytes_agree_with_the_counters_for_every_operation_and_tcp() {
    let proven = proven_two_sparks();
    for operation in ["write", "read", "send"] {
        // TCP is the same whatever RDMA does.
        let transports = if operation == "write" {
            "--both"
        } else {
            "--rdma"
        };
        let arguments = ["--seconds", "1", transports, "--operation", operation];
        let output = bench(&proven.lab, &arguments);
        let found = told(&output);
        assert_eq!(output.status.code(), Some(0), "{found:#}");
        let all = found["counter_findings"].as_array().unwrap();
        let bytes: Vec<&Value> = all.iter().filter(|one| one["kind"] == "bytes").collect();
        assert_eq!(bytes, Vec::<&Value>::new(), "{operation}");
        let counters = found["counters"].as_array().unwrap();
        let packets = |one: &Value| one["grown"]["hw_counters/sent_pkts"].as_u64() > Some(1000);
        assert!(counters.iter().any(packets), "{counters:#?}");
    }
}

#[test]
fn full_a_loss_of_one_direction_shows_in_the_right_counter_of_the_right_end() {
    let proven = proven_two_sparks();
    let lab = &proven.lab;
    // The lab may have served other tests before.
    let before = lab.faults().unwrap().lost_at;
    lab.fault_one_way("spark-a:p0", CableFault::Loss(0.01), FaultDirection::Sent)
        .unwrap();
    let output = bench(lab, &["--seconds", "2", "--both"]);
    let lost = lab.faults().unwrap().lost_at;
    lab.restore_all().unwrap();
    let found = told(&output);
    for (port, now) in &lost {
        let then = before.get(port);
        let sent = now.sent - then.map_or(0, |then| then.sent);
        let received = now.received - then.map_or(0, |then| then.received);
        assert_eq!(sent > 0, port == "spark-a:p0", "{before:?} {lost:?}");
        assert_eq!(received, 0, "{before:?} {lost:?}");
    }
    assert!(lost.contains_key("spark-a:p0"), "{lost:?}");
    // spark-a sends: its packets do not arrive.
    let run = "rocep1s0f0 →";
    let receiver = findings(&found, run, "spark-b");
    assert!(
        receiver.contains(&"hw_counters/out_of_seq_request"),
        "{found:#}"
    );
    let sender = findings(&found, run, "spark-a");
    assert!(
        !sender.contains(&"hw_counters/out_of_seq_request"),
        "{found:#}"
    );
    let tcp = "enp1s0f0np0 TCP, 1 stream →";
    assert!(
        findings(&found, tcp, "spark-a").contains(&"tcp/RetransSegs"),
        "{found:#}"
    );
    assert!(
        !findings(&found, tcp, "spark-b").contains(&"tcp/RetransSegs"),
        "{found:#}"
    );
}

#[test]
fn full_perftest_says_its_own_figure_beside_ours() {
    let proven = proven_two_sparks();
    let output = bench(&proven.lab, &["--seconds", "2", "--rdma", "--verify"]);
    let found = told(&output);
    let peers = found["peers"].as_array().unwrap();
    assert_eq!(peers.len(), 2, "one a rail: {found:#}");
    for peer in peers {
        let command = peer["command"].as_str().unwrap();
        assert!(command.starts_with("ib_write_bw -d roce"), "{command}");
        assert!(peer["gbps"]["measured"].as_f64() > Some(0.0), "{peer:#}");
    }
}
