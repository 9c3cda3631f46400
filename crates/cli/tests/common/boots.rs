//! What a boot takes from a node's ports, and the boot unit that sets it again.

use std::fs;

use crosstie_lab::Lab;

use super::{
    changes::{json, reboot, same, shape},
    inits,
    lab::sh,
};

const NODE: &str = "spark-a";
const PROGRAM: &str = crosstie_plan::paths::BINARY;

/// On two Sparks that nobody has changed.
pub(crate) fn unused_ports_stay_down(lab: &Lab) {
    let directory = tempfile::tempdir().unwrap();
    let cluster = directory.path().join("cluster.toml");
    inits::json(lab, &[NODE, "spark-b"], &cluster);
    let before = shape(lab, NODE);
    let text = fs::read_to_string(&cluster).unwrap();
    let wanted = text.replace("[fabric]\n", "[fabric]\nunused_ports_down = true\n");
    assert_ne!(wanted, text);
    fs::write(&cluster, wanted).unwrap();
    json(lab, &cluster, 0, &["apply", NODE, "--yes"]);

    // As long after as anybody sweeps old builds away.
    let old =
        format!("touch -d '40 days ago' {PROGRAM} /var/lib/crosstie/bin/*; test -x {PROGRAM}");
    sh(lab, NODE, &old);
    sh(lab, NODE, "rm /var/lib/crosstie/bin/*");
    json(lab, &cluster, 0, &["status", NODE]);
    reboot(lab, &[NODE]);
    let script = "for i in $(seq 300); do [ $(systemctl show -P SubState crosstie-fabric.service) = exited ] && break; sleep 0.1; done; \
         systemctl show -P Result crosstie-fabric.service; for p in enp1s0f1np1 enP2p1s0f1np1; do ip -br link show $p; done";
    let shown = sh(lab, NODE, script);
    let mut lines = shown.lines();
    assert_eq!(lines.next(), Some("success"), "{shown}");
    for line in lines {
        assert!(!line.contains("UP"), "{shown}");
    }

    // Without its program the next boot would lose them.
    sh(lab, NODE, &format!("mv {PROGRAM} {PROGRAM}.away"));
    let status = json(lab, &cluster, 1, &["status", NODE]);
    assert!(status.to_string().contains(PROGRAM), "{status:#}");
    sh(lab, NODE, &format!("mv {PROGRAM}.away {PROGRAM}"));
    json(lab, &cluster, 0, &["rollback", NODE, "--yes"]);
    sh(lab, NODE, &format!("! test -e {PROGRAM}"));
    same(NODE, &before, &shape(lab, NODE));
}
