//! PCIe and the card.

mod aspm_enabled;
mod below_port_rate;
mod iommu_translating;
mod nic_absent;
mod nic_hot;
mod nic_hotplugged;
mod numa_gpu_apart;
mod speed_reduced;
mod width_reduced;

use std::collections::BTreeSet;

use crosstie_model::{PciAddress, facts::PciDevice};

use super::CheckArea;
use crate::{CheckHit, ExaminedNode, is_nvidia_nic};

pub const AREA: CheckArea = CheckArea {
    title: "PCIe and the card",
    checks: &[
        &width_reduced::CHECK,
        &speed_reduced::CHECK,
        &below_port_rate::CHECK,
        &nic_absent::CHECK,
        &nic_hotplugged::CHECK,
        &nic_hot::CHECK,
        &iommu_translating::CHECK,
        &numa_gpu_apart::CHECK,
        &aspm_enabled::CHECK,
    ],
};

/// The physical functions of RDMA cards, of whatever maker. Soft-RoCE over an ordinary card does not make it one.
fn cards<'a>(node: &ExaminedNode<'a>) -> impl Iterator<Item = &'a PciDevice> {
    let facts = node.facts;
    facts.pci.iter().filter(|device| {
        !device.is_virtual_function()
            && (is_nvidia_nic(device) || node.index.has_rdma_hardware(device.address))
    })
}

fn file(address: PciAddress, name: &str) -> String {
    format!("/sys/bus/pci/devices/{address}/{name}")
}

/// The functions of one card share its link, and each reports it: one of them is enough.
fn one_a_link(hits: impl Iterator<Item = (PciAddress, CheckHit)>) -> Vec<CheckHit> {
    let slot = |address: PciAddress| PciAddress {
        function: 0,
        ..address
    };
    let mut seen = BTreeSet::new();
    hits.filter(|(address, _)| seen.insert(slot(*address)))
        .map(|(_, hit)| hit)
        .collect()
}

/// There is no slot to look at in a Spark: what its firmware does not mend is the maker's to mend.
fn soldered(node: &ExaminedNode, hit: CheckHit) -> CheckHit {
    if !node.has_gb10() {
        return hit;
    }
    hit.cause("firmware that is out of date, or a fault of the board").advice(
        "The card of this machine is soldered on: there is nothing to reseat. Update the firmware, switch the machine \
         off, leave it without power for a minute, and start it with the cable in. If the link stays slow, have the \
         maker's field diagnostics look at it.",
    )
    .command("sudo fwupdmgr refresh --force && sudo fwupdmgr update")
}
