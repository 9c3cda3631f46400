//! Power that goes without warning. What else cuts a change off is tried on containers; `cut.rs` tries every edge.

use crate::common::{
    changes::json,
    cuts::{Cut, Job, Operation, cut_node::CutNode},
    lab::sh,
    ups::proven_two_sparks,
};

const LOST: &str = "/var/lib/lost";

#[test]
fn full_power_cut_off_changes_end_confirmed_or_back() {
    let proven = proven_two_sparks();
    let lab = &proven.lab;
    let cut_node = |node, index: usize| CutNode::proven(&proven, node, &proven.before[index]);
    let power_cut = |operation, edge| Job {
        operation,
        edge,
        cut: Cut::Power,
    };
    let node = "spark-a";
    // In the middle of the files. What was not synced is lost, or a power cut shows nothing.
    cut_node(node, 0).cut_at(power_cut(Operation::Rollback, 24), || {
        sh(lab, node, &format!("echo lost > {LOST}"));
    });
    let script = format!("grep lost {LOST} || true; ls /sys/class/infiniband");
    let found = sh(lab, node, &script);
    assert_eq!(
        found.split_whitespace().collect::<Vec<_>>(),
        ["roceP2p1s0f0", "roceP2p1s0f1", "rocep1s0f0", "rocep1s0f1"]
    );

    let node = "spark-b";
    json(lab, &proven.cluster, 0, &["rollback", node, "--yes"]);
    // In the middle of the kernel's values.
    cut_node(node, 1).cut(power_cut(Operation::Change, 58));
}
