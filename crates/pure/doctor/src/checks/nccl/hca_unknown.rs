//! `NCCL_IB_HCA` takes no device of this node.

use crosstie_fabric::nccl::NcclNameFilter;

use super::{FILES, HCA, saw, setting, with_right_hcas};
use crate::{CauseScope, Check, CheckFunctions, CheckHit, ExaminedNode, explains, terms::listed};

pub(super) const CHECK: Check = Check {
    id: "nccl-hca-unknown",
    title: "NCCL_IB_HCA matches no RDMA device of the node",
    severity: "fault",
    fires: "`NCCL_IB_HCA` is set and, by NCCL's own rules, takes none of the node's RDMA devices. Names are prefixes; a \
        leading `=` makes them exact, a leading `^` excludes them.",
    reads: FILES,
    cause: "the value was copied from another node, or the devices were renamed (by udev, a driver update or another \
        slot)",
    meaning: "NCCL finds no device to use and falls back to TCP sockets without a word of warning. Names of RDMA devices \
        differ between machines and drivers: `mlx5_0`, `rocep1s0f0`. A space after a comma counts as part of the name.",
    fix: "List the devices that the node has now, exactly: `NCCL_IB_HCA==NAME,NAME`.",
    verify: "With `NCCL_DEBUG=INFO` the log says `NET/IB : Using` and names the devices.",
    explained_by: &[
        explains("nic-absent", CauseScope::Node),
        explains("rdma-driver-missing", CauseScope::Node),
    ],
    run: CheckFunctions::node(run),
};

fn run(node: &ExaminedNode) -> Vec<CheckHit> {
    let devices = &node.facts.rdma;
    let Some(setting) = setting(node, HCA).filter(|_| !devices.is_empty()) else {
        return Vec::new();
    };
    let choice = NcclNameFilter::parse(&setting.value);
    let taken = devices.iter().any(|device| {
        let mut ports = device.ports.iter();
        ports.any(|port| choice.takes(&device.name, Some(port.number)))
    });
    if taken || devices.iter().all(|device| device.ports.is_empty()) {
        return Vec::new();
    }
    let names = listed(devices.iter().map(|device| &device.name));
    let hit =
        saw(CheckHit::fault(HCA), setting).saw("RDMA devices", names, "/sys/class/infiniband");
    vec![with_right_hcas(hit, node, setting)]
}
