//! Power that goes without warning. What else cuts a change off is tried on containers; `full/cut.rs` tries every edge.

use std::thread;

use crate::common::{
    cuts::{Cut, Job, Operation, place::Place},
    lab::sh,
    ups::{Proven, proven_two_sparks},
};

fn power_cut(place: &Place<'_>, operation: Operation, edge: usize) {
    let cut = Cut::Power;
    place.cut(Job {
        operation,
        edge,
        cut,
    });
}

#[test]
fn lab_power_cut_off_changes_end_confirmed_or_back() {
    let proven = proven_two_sparks();
    let [a, b] = ["spark-a", "spark-b"];
    let place = |node, index: usize| Place::proven(&proven, node, &proven.before[index]);
    thread::scope(|scope| {
        scope.spawn(|| {
            let place = place(a, 0);
            // In the middle of the files, and of the kernel's values.
            power_cut(&place, Operation::WayBack, 30);
            power_cut(&place, Operation::Change, 58);
        });
        scope.spawn(|| {
            loses_what_was_not_written(&proven, b);
            power_cut(&place(b, 1), Operation::WayBack, 47);
        });
    });
}

/// Else a power cut would show nothing.
fn loses_what_was_not_written(proven: &Proven, node: &str) {
    let lab = &proven.lab;
    let script = "echo kept > /var/lib/kept; sync; echo lost > /var/lib/lost";
    sh(lab, node, script);
    lab.power_cut(node).unwrap();
    assert_eq!(
        sh(
            lab,
            node,
            "cat /var/lib/kept; grep lost /var/lib/lost || true"
        ),
        "kept\n"
    );
    let names = sh(lab, node, "ls /sys/class/infiniband");
    assert_eq!(
        names.split_whitespace().collect::<Vec<_>>(),
        ["roceP2p1s0f0", "roceP2p1s0f1", "rocep1s0f0", "rocep1s0f1"]
    );
}
