//! `NCCL_IB_HCA` takes one twin and leaves out the other.

use crosstie_fabric::nccl::NcclNameFilter;

use super::{FILES, HCA, saw, setting, with_right_hcas};
use crate::{Check, CheckFunctions, CheckHit, ExaminedNode, port_file, terms::listed};

pub(super) const CHECK: Check = Check {
    id: "nccl-hca-missing-twin",
    title: "NCCL_IB_HCA leaves out one of two active twins",
    severity: "fault",
    fires: "Two ports of one cage are active, and `NCCL_IB_HCA` takes the one and not the other.",
    reads: FILES,
    cause: "only one of the cage's two devices was listed",
    meaning: "A cage of a DGX Spark is served by two functions, each on a PCIe link that carries half of the cable's \
        rate. NCCL uses the devices it is given: with one twin of two it cannot exceed half of the bandwidth.",
    fix: "List both twins.",
    verify: "With `NCCL_DEBUG=INFO` the line `NET/IB : Using` lists both devices.",
    explained_by: &[],
    run: CheckFunctions::node(run),
};

fn run(node: &ExaminedNode) -> Vec<CheckHit> {
    let Some(setting) = setting(node, HCA) else {
        return Vec::new();
    };
    let choice = NcclNameFilter::parse(&setting.value);
    (0..node.cages.len())
        .filter_map(|cage| {
            let active = node.members(cage).filter(|(_, port)| port.is_active());
            let (taken, left): (Vec<_>, Vec<_>) =
                active.partition(|(device, port)| choice.takes(&device.name, Some(port.number)));
            if taken.is_empty() || left.is_empty() {
                return None;
            }
            let mut hit = saw(
                CheckHit::fault(listed(left.iter().map(|(device, _)| &device.name))),
                setting,
            );
            for (what, ports) in [("active and taken", taken), ("active and left out", left)] {
                for (device, port) in ports {
                    hit = hit.saw(what, &device.name, port_file(device, port, "state"));
                }
            }
            Some(with_right_hcas(hit, node, setting))
        })
        .collect()
}
