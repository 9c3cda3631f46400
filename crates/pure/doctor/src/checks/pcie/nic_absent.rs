//! A machine that must have a network card shows none.

use super::super::kernel_log::{HOTPLUG, last_line};
use crate::{Check, CheckFunctions, CheckHit, ExaminedNode};

pub(super) const CHECK: Check = Check {
    id: "nic-absent",
    title: "The RDMA card is not on the PCI bus",
    severity: "fault",
    fires: "The GPU is a GB10 (DGX Spark and its siblings, which all have a ConnectX-7), or the cluster file gives the \
        node a fabric port, and no PCI device of vendor 0x15b3 exists.",
    reads: &[
        "/sys/bus/pci/devices/*/vendor",
        "/etc/nvidia/cx7-hotplug-enabled",
        "dmesg",
    ],
    cause: "the card is switched off, not seated, or broken",
    meaning: "The system sees no card at all, so no driver setting can help. A DGX Spark switches its ConnectX-7 off to \
        save power when it believes that no cable is in; some do so wrongly, some 16 seconds after the start.\n\n\
        Do not rescan the PCI bus by hand (`/sys/bus/pci/rescan`) while the card is switched off: it hung or crashed \
        several machines.",
    fix: "Seat the cable at both ends and restart the machine with it in. If the card stays away, power off, seat it \
        again or try another slot; then have it looked at.",
    verify: "`lspci -d 15b3:` lists the card.",
    explained_by: &[],
    run: CheckFunctions::node(run),
};

const VENDOR: u16 = 0x15b3;
const MARKER: &str = "/etc/nvidia/cx7-hotplug-enabled";

fn run(node: &ExaminedNode) -> Vec<CheckHit> {
    let facts = node.facts;
    // No list of devices, or one with holes, proves nothing.
    let listed = !facts.pci.is_empty()
        && facts
            .pci
            .iter()
            .all(|device| device.vendor.known().is_some());
    let present = facts
        .pci
        .iter()
        .any(|device| device.vendor.known() == Some(&VENDOR));
    let wanted = node.has_gb10() || (has_cage_in_file(node) && facts.rdma.is_empty());
    if !listed || present || !wanted {
        return Vec::new();
    }
    let hit = CheckHit::fault("ConnectX").saw(
        "PCI devices of vendor 0x15b3",
        format!("none of {}", facts.pci.len()),
        "/sys/bus/pci/devices/*/vendor",
    );
    if node.has_gb10() {
        return vec![spark(node, hit)];
    }
    vec![hit.advice(
        "See that the slot is switched on in the firmware setup. Power off, seat the card again, or try another slot.",
    )]
}

fn spark(node: &ExaminedNode, mut hit: CheckHit) -> CheckHit {
    let removed = last_line(node, HOTPLUG).filter(|line| line.contains("removal"));
    if let Some(line) = removed {
        hit = hit
            .saw("last word of the hot-plug driver", line, "dmesg")
            .cause("the hot-plug driver believes that no cable is in, and switched the card off");
    }
    let advice = "Seat the cable at both ends. Then restart the machine with the cable in; never rescan the PCI bus by \
        hand, which can hang it.";
    if node.facts.persistence.cx7_hotplug_marker {
        hit = hit
            .saw("hot-plug power saving", "on", MARKER)
            .advice(format!(
                "{advice} The marker file makes the machine switch the card off on a false alarm: remove it first."
            ))
            .command(format!("sudo rm {MARKER}"));
    } else {
        hit = hit.advice(advice);
    }
    hit.command("sudo systemctl reboot --no-block")
}

fn has_cage_in_file(node: &ExaminedNode) -> bool {
    node.spec.is_some_and(|spec| {
        let declared = spec.node(node.name);
        let mut ends = spec.cables.iter().flat_map(crosstie_model::Cable::ends);
        declared.is_some_and(|declared| !declared.cages.is_empty())
            || ends.any(|end| end.node == node.name)
    })
}
