//! The device nodes are there, and this user may not open them.

use super::{CONTAINER, container};
use crate::{Check, CheckFunctions, CheckHit, ExaminedNode};

pub(super) const CHECK: Check = Check {
    id: "rdma-devices-denied",
    title: "This user may not open the RDMA devices",
    severity: "warning",
    fires: "`/dev/infiniband/uverbsN` of an RDMA device exists, and the user who runs Crosstie may not open it.",
    reads: &["/dev/infiniband/uverbs*"],
    cause: "a udev rule that gives the nodes to root or to a group, or a container without the right to the device",
    meaning: "The kernel makes these nodes for everyone; what each process may do is decided when it registers memory. Where \
        a rule closes them, jobs of this user find no RDMA device and go over TCP, while the same command works as root.",
    fix: "Join the group that owns the nodes (often `rdma`) and log in again, or open the nodes by a udev rule, or run the \
        job as root.",
    verify: "`ibv_devinfo` works as the user who runs the job.",
    explained_by: &[],
    run: CheckFunctions::node(run),
};

fn run(node: &ExaminedNode) -> Vec<CheckHit> {
    let devices = node.facts.rdma.iter();
    let verbs = devices.filter_map(|device| device.verbs.known());
    let closed: Vec<&str> = verbs
        .filter(|verbs| verbs.present && verbs.accessible.known() == Some(&false))
        .map(|verbs| verbs.name.as_str())
        .collect();
    if closed.is_empty() {
        return Vec::new();
    }
    let hit = CheckHit::warning(closed.join(", "));
    let hit = closed.iter().fold(hit, |hit, name| {
        hit.saw(
            format!("opening {name}"),
            "permission denied",
            format!("/dev/infiniband/{name}"),
        )
    });
    if let Some(kind) = container(node) {
        return vec![
            hit.saw("container", kind, CONTAINER)
                .advice("Start the container with `--device /dev/infiniband`."),
        ];
    }
    vec![
        hit.command(
            r#"echo 'KERNEL=="uverbs*", SUBSYSTEM=="infiniband_verbs", MODE="0666"' | sudo tee /etc/udev/rules.d/91-rdma-access.rules"#,
        )
        .command("sudo udevadm control --reload && sudo udevadm trigger --subsystem-match=infiniband_verbs"),
    ]
}
