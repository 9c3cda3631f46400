//! Ctrl-C in the middle of a change: the node rolls back at once, and says why.

use rustix::process::{Pid, Signal, kill_process};

use crate::common::{
    changes::{json, once_settled, same, shape, start},
    inits,
    lab::{containers, sh},
};

const NODE: &str = "spark-a";

/// A manager that takes its time, so that there is a middle. netplan looks for its parts beside itself.
const SLOW_NETPLAN: &str = "cp /usr/sbin/netplan /usr/share/netplan/netplan.own && \
     printf '#!/bin/sh\\ntouch /run/begun\\nsleep 5\\nexec /usr/share/netplan/netplan.own \"$@\"\\n' > /usr/local/slow && \
     chmod 755 /usr/local/slow && mount --bind /usr/local/slow $(readlink -f /usr/sbin/netplan)";
const BEGUN: &str = "for i in $(seq 1200); do [ -e /run/begun ] && exit; sleep 0.05; done; exit 1";

#[test]
fn a_change_that_is_interrupted_says_so_in_status() {
    let directory = tempfile::tempdir().unwrap();
    let cluster = directory.path().join("cluster.toml");
    let lab = containers("two-sparks");
    inits::json(&lab, &[NODE, "spark-b"], &cluster);
    let before = shape(&lab, NODE);
    sh(&lab, NODE, SLOW_NETPLAN);
    let controller = start(&lab, &cluster, &["apply", NODE, "--yes"]);
    sh(&lab, NODE, BEGUN);
    kill_process(Pid::from_child(&controller), Signal::INT).unwrap();
    let said = controller.wait_with_output().unwrap();
    assert!(!said.status.success(), "{said:?}");
    once_settled(&lab, NODE, "true");
    same(NODE, &before, &shape(&lab, NODE));
    let status = json(&lab, &cluster, 0, &["status", NODE]);
    let last = &status["nodes"][0]["transactions"][0];
    assert_eq!(last["state"], "rolled-back", "{status:#}");
    let why = last["why"].as_str().unwrap();
    assert!(
        why.starts_with("its controller was interrupted before it was "),
        "{why}"
    );
}
