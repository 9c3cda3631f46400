//! The card came up by hot-plug: every reading looks right and the bandwidth is not there.

use super::super::kernel_log::{HOTPLUG, last_line};
use crate::{Check, CheckFunctions, CheckHit, ExaminedNode};

pub(super) const CHECK: Check = Check {
    id: "nic-hotplugged",
    title: "The card was started by plugging in the cable, not with the machine",
    severity: "warning",
    fires: "The kernel log has a line of `cx7-pcie-hotplug` that says `Cable plugin`, and no later one that says that the \
        cable was removed.",
    reads: &["dmesg"],
    cause: "the cable was plugged in, or seated again, while the machine was running",
    meaning: "A ConnectX-7 of a DGX Spark that is switched on by hot-plug can stay at about 13 Gb/s, while its port shows \
        200 Gb/s and its PCIe link Gen5 x4. Nothing but a measurement tells, and only a restart mends it.",
    fix: "Restart both ends of the cable, with the cable in. A plain `reboot` was seen to be ignored: compare \
        `/proc/sys/kernel/random/boot_id` before and after.",
    verify: "`dmesg` shows no `Cable plugin` since the start, and `ib_write_bw` gives 90 Gb/s or more on each twin.",
    explained_by: &[],
    run: CheckFunctions::node(run),
};

fn run(node: &ExaminedNode) -> Vec<CheckHit> {
    let event = last_line(node, HOTPLUG);
    let plugged = |line: &&str| {
        let line = line.to_ascii_lowercase();
        line.contains("cable plugin") || line.contains("cable plug-in")
    };
    let hit = |line: &str| {
        CheckHit::warning("ConnectX-7")
            .saw("last word of the hot-plug driver", line, "dmesg")
            .command("sudo systemctl reboot --no-block")
    };
    event.filter(plugged).map(hit).into_iter().collect()
}
