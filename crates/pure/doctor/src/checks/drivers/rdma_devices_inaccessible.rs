//! The kernel has RDMA devices, and there is nothing for a program to open.

use crosstie_model::facts::RdmaDevice;

use super::{CONTAINER, container, has_module};
use crate::{Check, CheckFunctions, CheckHit, ExaminedNode};

pub(super) const CHECK: Check = Check {
    id: "rdma-devices-inaccessible",
    title: "RDMA devices exist, but their device nodes do not",
    severity: "fault",
    fires: "A device under `/sys/class/infiniband` has no `/dev/infiniband/uverbsN`. In a container only when none has: \
        there it is usual to hand in some of them.",
    reads: &[
        "/sys/class/infiniband",
        "/sys/class/infiniband_verbs/*/ibdev",
        "/dev/infiniband/uverbs*",
    ],
    cause: "ib_uverbs is not loaded, or /dev/infiniband was not handed into the container",
    meaning: "Programs reach RDMA through `/dev/infiniband/uverbsN`. A container sees the host's devices in /sys even if it \
        may not use them: tools list the card, NCCL finds `No device found`, and data goes over TCP.",
    fix: "On a machine: load `ib_uverbs`. In a container: start it with `--device /dev/infiniband --cap-add IPC_LOCK \
        --ulimit memlock=-1 --network host`.",
    verify: "`ls /dev/infiniband` shows one `uverbs` node for each RDMA device.",
    explained_by: &[],
    run: CheckFunctions::node(run),
};

fn run(node: &ExaminedNode) -> Vec<CheckHit> {
    let devices = &node.facts.rdma;
    let missing: Vec<&RdmaDevice> = devices
        .iter()
        .filter(|device| lacks_node(node, device))
        .collect();
    if missing.is_empty() || (container(node).is_some() && missing.len() < devices.len()) {
        return Vec::new();
    }
    let names: Vec<&str> = missing.iter().map(|device| device.name.as_str()).collect();
    let mut hit = CheckHit::fault(names.join(", "));
    for device in missing {
        let (value, source) = match device.verbs.known() {
            Some(verbs) => ("missing", format!("/dev/infiniband/{}", verbs.name)),
            None => ("none", "/sys/class/infiniband_verbs/*/ibdev".to_owned()),
        };
        hit = hit.saw(format!("device node of {}", device.name), value, source);
    }
    if let Some(kind) = container(node) {
        let cause = format!("this {kind} container was not given /dev/infiniband");
        return vec![hit.saw("container", kind, CONTAINER).cause(cause)];
    }
    vec![match has_module(node, "ib_uverbs") {
        Some(true) => hit
            .cause("ib_uverbs is loaded, and udev did not make the nodes")
            .advice("Let udev go over the devices again.")
            .command("sudo udevadm trigger --subsystem-match=infiniband_verbs"),
        _ => hit
            .advice("Load `ib_uverbs`, now and at every start.")
            .command("sudo modprobe ib_uverbs")
            .command(format!(
                "echo ib_uverbs | sudo tee {}/ib-uverbs.conf",
                node.facts.distribution().folders.modules
            )),
    }]
}

/// Without `ib_uverbs` a device has no verbs entry at all; without a list of modules that may be a gap in the facts.
fn lacks_node(node: &ExaminedNode, device: &RdmaDevice) -> bool {
    match device.verbs.known() {
        Some(verbs) => !verbs.present,
        None => has_module(node, "ib_uverbs") == Some(false),
    }
}
