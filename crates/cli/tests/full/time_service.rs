//! A clock that nobody sets: the plan starts what is installed for it, and a rollback stops it.

use crate::common::{
    changes::{json, same, shape},
    lab::sh,
    ups::proven_two_sparks,
};

const NODE: &str = "spark-a";

/// The image has no time service: one that systemd knows as such, as a package would bring it.
const INSTALL: &str = "mkdir -p /etc/systemd/ntp-units.d && echo lab-time.service > /etc/systemd/ntp-units.d/50-lab.list && \
     printf '[Service]\\nExecStart=/bin/sleep infinity\\n[Install]\\nWantedBy=multi-user.target\\n' > /etc/systemd/system/lab-time.service && \
     systemctl daemon-reload && systemctl try-restart systemd-timedated && timedatectl show -p CanNTP -p NTP";
const STATE: &str =
    "systemctl is-active lab-time.service; systemctl is-enabled lab-time.service; true";

#[test]
fn full_a_time_service_is_started_and_stopped_with_the_rollback() {
    let proven = proven_two_sparks();
    let (lab, cluster) = (&proven.lab, &proven.cluster);
    assert_eq!(sh(lab, NODE, INSTALL), "CanNTP=yes\nNTP=no\n");
    let before = shape(lab, NODE);
    let plan = json(lab, cluster, 0, &["plan", NODE]);
    assert!(plan.to_string().contains("time-service"), "{plan:#}");
    json(lab, cluster, 0, &["apply", NODE, "--yes"]);
    assert_eq!(sh(lab, NODE, STATE), "active\nenabled\n");
    // There is nothing more to do.
    let again = json(lab, cluster, 0, &["apply", NODE, "--yes"]);
    assert_eq!(again["nodes"][0]["outcome"], "unchanged", "{again:#}");
    json(lab, cluster, 0, &["rollback", NODE, "--yes"]);
    assert_eq!(sh(lab, NODE, STATE), "inactive\ndisabled\n");
    same(NODE, &before, &shape(lab, NODE));
}
