//! `NCCL_IB_HCA` names a device whose port is down.

use crosstie_fabric::nccl::{NcclNameFilter, NcclNameFilterEntry};
use crosstie_model::facts::rdma::RdmaDevice;

use super::{FILES, HCA, saw, setting, with_right_hcas};
use crate::{CauseScope, Check, CheckFunctions, CheckHit, ExaminedNode, explains, port_file};

pub(super) const CHECK: Check = Check {
    id: "nccl-hca-down",
    title: "NCCL_IB_HCA names a device whose port is not active",
    severity: "fault",
    fires: "`NCCL_IB_HCA` has the exact name of a device, not to exclude it, and the state of its ports is known and not \
        ACTIVE.",
    reads: FILES,
    cause: "the cable is in the other cage, the link is down, or the list names ports that were never cabled",
    meaning: "NCCL skips ports that are not active without a word. If the others that it is given are the right ones it \
        loses nothing; if this was the one that counts, it runs on fewer rails or over TCP.",
    fix: "Name the devices that are active, or bring the link up.",
    verify: "`rdma link` says state ACTIVE for each device that is listed.",
    explained_by: &[
        explains("twin-down", CauseScope::Port),
        explains("cable-dead", CauseScope::Cable),
        explains("fabric-port-down", CauseScope::Port),
        explains("no-fabric-link", CauseScope::Node),
        explains("ib-no-subnet-manager", CauseScope::Port),
    ],
    run: CheckFunctions::node(run),
};

fn run(node: &ExaminedNode) -> Vec<CheckHit> {
    let Some(setting) = setting(node, HCA) else {
        return Vec::new();
    };
    let choice = NcclNameFilter::parse(&setting.value);
    if choice.excludes {
        return Vec::new();
    }
    let named = choice.entries.iter().filter_map(|entry| {
        let device = node.facts.rdma_device(entry.name)?;
        is_down(entry, device).then_some(device)
    });
    named
        .map(|device| {
            let hit = saw(CheckHit::fault(&device.name), setting);
            let hit = device.ports.iter().fold(hit, |hit, port| {
                let state = port
                    .state
                    .known()
                    .map_or_else(|| "?".to_owned(), ToString::to_string);
                hit.saw("state", state, port_file(device, port, "state"))
            });
            with_right_hcas(hit, node, setting)
        })
        .collect()
}

fn is_down(entry: &NcclNameFilterEntry, device: &RdmaDevice) -> bool {
    let mut meant = device
        .ports
        .iter()
        .filter(|port| {
            entry
                .port
                .is_none_or(|wanted| wanted == i64::from(port.number))
        })
        .peekable();
    meant.peek().is_some() && meant.all(|port| port.state.known().is_some() && !port.is_active())
}
