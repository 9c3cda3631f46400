//! `NCCL_IB_GID_INDEX` points at an entry that is empty or no RoCE v2.

use crosstie_fabric::nccl::{NcclNameFilter, integer};
use crosstie_model::facts::rdma::{GidKind, LinkLayer, RdmaDevice, RdmaPort};

use super::{HCA, saw, setting};
use crate::{CauseScope, Check, CheckFunctions, CheckHit, ExaminedNode, explains, port_file};

pub(super) const CHECK: Check = Check {
    id: "nccl-gid-pinned-wrong",
    title: "NCCL_IB_GID_INDEX points at a GID that is empty or not RoCE v2",
    severity: "fault",
    fires: "`NCCL_IB_GID_INDEX` is set, and on an active RoCE port that NCCL would use that index is empty or of another \
        type than RoCE v2.",
    reads: &[
        "NCCL_IB_GID_INDEX",
        "/sys/class/infiniband/DEV/ports/P/gids/N",
        "/sys/class/infiniband/DEV/ports/P/gid_attrs/types/N",
    ],
    cause: "the index was right once: entries move when a link is lost, an address is added or the peer reboots",
    meaning: "The GID table is filled in the order in which addresses come and go, so that the index of an address drifts. \
        A queue pair with an empty entry fails (`ibv_modify_qp … No data available`); with a RoCE v1 entry it reaches \
        nobody behind a router, and no peer that uses v2. NCCL 2.21 and later find the right entry by themselves.",
    fix: "Take the setting out (NCCL 2.21 or later). With an older NCCL, set the index that the table has now, and expect \
        it to drift again.",
    verify: "With `NCCL_DEBUG=INFO` queue pairs come up, and the log names a GID with the port's IPv4 address.",
    explained_by: &[
        explains("gid-v2-missing", CauseScope::Port),
        explains("fabric-unaddressed", CauseScope::Port),
        explains("twin-unaddressed", CauseScope::Port),
    ],
    run: CheckFunctions::node(run),
};

fn run(node: &ExaminedNode) -> Vec<CheckHit> {
    let Some(setting) = setting(node, "NCCL_IB_GID_INDEX") else {
        return Vec::new();
    };
    // -1 leaves the choice to NCCL.
    let Some(index) = integer(&setting.value).and_then(|index| u32::try_from(index).ok()) else {
        return Vec::new();
    };
    in_use(node)
        .into_iter()
        .filter(|(_, port)| port.link_layer.known() == Some(&LinkLayer::Ethernet))
        .filter_map(|(device, port)| {
            // Even a bare port has its link-local entries: an empty table was not read.
            let shown = wrong(port, index).filter(|_| !port.gids.is_empty())?;
            let file = port_file(device, port, &format!("gids/{index}"));
            let hit = saw(CheckHit::fault(&device.name), setting).saw(
                format!("GID {index}"),
                shown,
                file,
            );
            let mut right = port.gids.iter().filter(|entry| {
                entry.kind.known() == Some(&GidKind::RoceV2) && entry.gid.address().is_ipv4()
            });
            Some(match right.next() {
                Some(entry) => hit.saw(
                    "RoCE v2 entry of the IPv4 address",
                    entry.index,
                    port_file(device, port, "gids"),
                ),
                None => hit,
            })
        })
        .collect()
}

/// Active ports that NCCL would take: those that `NCCL_IB_HCA` chooses, else the fabric's.
fn in_use<'a>(node: &ExaminedNode<'a>) -> Vec<(&'a RdmaDevice, &'a RdmaPort)> {
    let ports: Vec<(&RdmaDevice, &RdmaPort)> = match setting(node, HCA) {
        Some(setting) => {
            let choice = NcclNameFilter::parse(&setting.value);
            let devices = node.facts.rdma.iter();
            devices
                .flat_map(|device| device.ports.iter().map(move |port| (device, port)))
                .filter(|(device, port)| choice.takes(&device.name, Some(port.number)))
                .collect()
        }
        None => node
            .fabric
            .iter()
            .map(|port| (port.device, port.port))
            .collect(),
    };
    ports
        .into_iter()
        .filter(|(_, port)| port.is_active())
        .collect()
}

/// What is wrong with the entry, if it is known to be.
fn wrong(port: &RdmaPort, index: u32) -> Option<String> {
    match port.gids.iter().find(|entry| entry.index == index) {
        None => Some("empty".to_owned()),
        Some(entry) => match entry.kind.known() {
            None | Some(GidKind::RoceV2) => None,
            Some(kind) => Some(format!("{} {kind}", entry.gid.address())),
        },
    }
}
